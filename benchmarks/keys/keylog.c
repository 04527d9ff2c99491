/* A key log from any program that uses OpenSSL (1.1.1 or later) as a shared library, client or server:
 *
 *     gcc -shared -fPIC -o keylog.so keylog.c -ldl
 *     SSLKEYLOGFILE=/path/log LD_PRELOAD=./keylog.so COMMAND…
 *
 * Every TLS session begins with SSL_new; its context is told to report its secrets before. A program may hold several OpenSSLs (a Python
 * driver brings its own, which no other library sees): the real function is the one that the caller is linked with.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef void (*reporter)(const void *ssl, const char *line);

static void report(const void *ssl, const char *line) {
    (void)ssl;
    const char *path = getenv("SSLKEYLOGFILE");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file < 0) return;
    struct iovec words[] = {{(void *)line, strlen(line)}, {"\n", 1}};
    if (writev(file, words, 2) < 0) { /* a full disk must not end the program that is watched */ }
    close(file);
}

/* What the library with that code is linked with; of the program itself, what comes next. */
static void *linked(void *code, const char *name) {
    Dl_info library;
    void *handle = dladdr(code, &library) ? dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle) dlclose(handle);
    return found ? found : dlsym(RTLD_NEXT, name);
}

void *SSL_new(void *context) {
    void *caller = __builtin_return_address(0);
    void *(*real)(void *) = (void *(*)(void *))linked(caller, "SSL_new");
    void (*set)(void *, reporter) = (void (*)(void *, reporter))linked(caller, "SSL_CTX_set_keylog_callback");
    if (set) set(context, report);
    return real ? real(context) : NULL;
}
