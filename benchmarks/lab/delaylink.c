// delaylink: packet-level link emulator between two network namespaces.
//
// Opens one TUN device in each of two (already existing) network namespaces and
// moves every IP packet from one to the other, delaying it by RTT/2 per
// direction. One thread per direction. A thread sleeps (ppoll, 1 ns timer slack,
// SCHED_FIFO) until shortly before the head-of-line deadline, then spins.
//
// usage: delaylink NS_A DEV_A NS_B DEV_B [-d rtt_us] [-r rate_bit_s] [-l loss_pct]
//                  [-j jitter_us] [-q queue_bytes] [-c comp_us] [-s spin_us] [-u ctl_socket] [-H (keep CPUs hot)]
// control (unix datagram): "rtt=5000 rate=0 loss=0 jitter=0 queue=0 comp=20 comp0=0", "stats"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 65536u // packets in flight per direction
#define SLOT 2048u   // bytes per slot (MTU 1500)

static _Atomic int64_t cfg_delay_ns, cfg_rate, cfg_jitter_ns, cfg_queue, cfg_comp_ns, cfg_spin_ns;
static _Atomic uint32_t cfg_loss; // probability * 2^32
static _Atomic int stop_flag;

struct dir {
  int in, out;
  const char *name;
  pthread_t th;
  uint8_t *buf;
  uint16_t *len;
  int64_t *due;
  uint64_t head, tail; // head: next to send, tail: next free
  int64_t last_due, link_free;
  uint64_t rng;
  _Atomic uint64_t rx, tx, bytes, lost, qdrop, werr, late_sum_ns, late_max_ns, maxq;
};
static struct dir D[2];

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static uint64_t rnd(struct dir *d) {
  d->rng ^= d->rng << 13;
  d->rng ^= d->rng >> 7;
  d->rng ^= d->rng << 17;
  return d->rng;
}
static void die(const char *m) {
  perror(m);
  exit(1);
}

static void enter_ns(const char *ns) {
  char p[256];
  snprintf(p, sizeof p, "/run/netns/%s", ns);
  int fd = open(p, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die(p);
  if (setns(fd, CLONE_NEWNET)) die("setns");
  close(fd);
}
static int tun_open(const char *ns, const char *dev) {
  enter_ns(ns);
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die("/dev/net/tun");
  struct ifreq r;
  memset(&r, 0, sizeof r);
  r.ifr_flags = IFF_TUN | IFF_NO_PI; // no IFF_VNET_HDR: no GSO, checksums complete
  strncpy(r.ifr_name, dev, IFNAMSIZ - 1);
  if (ioctl(fd, TUNSETIFF, &r)) die("TUNSETIFF");
  ioctl(fd, TUNSETOFFLOAD, 0);
  int snd = 64 << 20;
  ioctl(fd, TUNSETSNDBUF, &snd);
  return fd;
}

static inline void drain(struct dir *d) {
  for (;;) {
    if (d->tail - d->head >= SLOTS) return; // back-pressure into the tun queue
    uint32_t i = d->tail % SLOTS;
    ssize_t n = read(d->in, d->buf + (size_t)i * SLOT, SLOT);
    if (n <= 0) return;
    int64_t t = now();
    atomic_fetch_add_explicit(&d->rx, 1, memory_order_relaxed);
    uint32_t loss = atomic_load_explicit(&cfg_loss, memory_order_relaxed);
    if (loss && (uint32_t)(rnd(d) >> 16) < loss) {
      atomic_fetch_add(&d->lost, 1);
      continue;
    }
    int64_t dep = t, rate = atomic_load_explicit(&cfg_rate, memory_order_relaxed);
    if (rate > 0) { // serialise at the bottleneck, then propagate
      int64_t q = atomic_load_explicit(&cfg_queue, memory_order_relaxed);
      if (q > 0 && d->link_free > t && (double)(d->link_free - t) * rate / 8e9 > q) {
        atomic_fetch_add(&d->qdrop, 1);
        continue;
      }
      if (d->link_free < t) d->link_free = t;
      d->link_free += (int64_t)((double)n * 8e9 / rate);
      dep = d->link_free;
    }
    int64_t delay = atomic_load_explicit(&cfg_delay_ns, memory_order_relaxed);
    if (delay > 0) {
      delay -= atomic_load_explicit(&cfg_comp_ns, memory_order_relaxed);
      if (delay < 0) delay = 0;
    }
    int64_t jit = atomic_load_explicit(&cfg_jitter_ns, memory_order_relaxed);
    if (jit > 0) {
      double u = ((rnd(d) >> 11) * (1.0 / 9007199254740992.0)) * 2 - 1;
      delay += (int64_t)(u * jit);
      if (delay < 0) delay = 0;
    }
    int64_t due = dep + delay;
    if (due < d->last_due) due = d->last_due; // never reorder
    d->last_due = due;
    d->due[i] = due;
    d->len[i] = (uint16_t)n;
    d->tail++;
    uint64_t ql = d->tail - d->head;
    if (ql > d->maxq) d->maxq = ql;
    if (d->due[d->head % SLOTS] <= t) return; // something is due: send first
  }
}
static inline void flush_due(struct dir *d) {
  while (d->head < d->tail) {
    uint32_t i = d->head % SLOTS;
    int64_t t = now();
    if (d->due[i] > t) return;
    int64_t late = t - d->due[i];
    ssize_t w = write(d->out, d->buf + (size_t)i * SLOT, d->len[i]);
    if (w < 0) atomic_fetch_add(&d->werr, 1);
    d->tx++;
    d->bytes += d->len[i];
    d->late_sum_ns += late;
    if ((uint64_t)late > d->late_max_ns) d->late_max_ns = late;
    d->head++;
  }
}
static void *run(void *a) {
  struct dir *d = a;
  prctl(PR_SET_TIMERSLACK, 1);
  prctl(PR_SET_NAME, d->name);
  struct sched_param sp = {.sched_priority = 50};
  if (sched_setscheduler(0, SCHED_FIFO, &sp)) perror("SCHED_FIFO");
  struct pollfd p = {.fd = d->in, .events = POLLIN};
  while (!stop_flag) {
    drain(d);
    flush_due(d);
    if (d->head == d->tail) {
      ppoll(&p, 1, &(struct timespec){0, 200000000}, NULL);
      continue;
    }
    int64_t w = d->due[d->head % SLOTS] - now();
    // A packet's delay counts from when it is read, so even while a bulk flow fills the queue the link must look often:
    // sleeping until the head is due would hold everything behind the first burst back for another half RTT.
    int bulk = d->tail - d->head > 48;
    if (bulk)
      w = w < 50000 ? 50000 : w < 200000 ? w : 200000; // batch, leave the cores to the peers
    else
      w -= cfg_spin_ns;
    if (w > 0) {
      struct timespec ts = {w / 1000000000LL, w % 1000000000LL};
      if (bulk)
        nanosleep(&ts, NULL);
      else
        ppoll(&p, 1, &ts, NULL);
    }
    // else: spin (drain + flush again)
  }
  return NULL;
}
// keeps a vCPU out of the halt state (SCHED_IDLE: yields to everything), so that
// wake-ups take microseconds, not 50-200 us as from a halted virtual CPU
static void *hot(void *a) {
  cpu_set_t c;
  CPU_ZERO(&c);
  CPU_SET((long)a, &c);
  sched_setaffinity(0, sizeof c, &c);
  struct sched_param sp = {0};
  sched_setscheduler(0, SCHED_IDLE, &sp);
  prctl(PR_SET_NAME, "dl-hot");
  while (!stop_flag)
    for (int i = 0; i < 1000; i++) __builtin_ia32_pause();
  return NULL;
}
static void parse(char *s, char *out, size_t on) {
  for (char *k = strtok(s, " \n,"); k; k = strtok(NULL, " \n,")) {
    char *v = strchr(k, '=');
    double x = v ? atof(v + 1) : 0;
    if (v) *v = 0;
    if (!strcmp(k, "rtt"))
      cfg_delay_ns = (int64_t)(x * 500);
    else if (!strcmp(k, "rate"))
      cfg_rate = (int64_t)x;
    else if (!strcmp(k, "loss"))
      cfg_loss = (uint32_t)(x / 100 * 4294967295.0);
    else if (!strcmp(k, "jitter"))
      cfg_jitter_ns = (int64_t)(x * 1000);
    else if (!strcmp(k, "queue"))
      cfg_queue = (int64_t)x;
    else if (!strcmp(k, "comp"))
      cfg_comp_ns = (int64_t)(x * 1000);
    else if (!strcmp(k, "spin"))
      cfg_spin_ns = (int64_t)(x * 1000);
    else if (!strcmp(k, "reset"))
      for (int i = 0; i < 2; i++) {
        D[i].rx = D[i].tx = D[i].bytes = D[i].lost = D[i].qdrop = D[i].werr = D[i].late_sum_ns = D[i].late_max_ns = D[i].maxq = 0;
      }
  }
  int o = snprintf(out, on, "{\"rtt_us\":%.3f,\"rate\":%lld,\"loss_pct\":%.4f,\"jitter_us\":%.1f,\"comp_us\":%.1f,\"dirs\":[",
                   cfg_delay_ns / 500.0, (long long)cfg_rate, cfg_loss / 4294967295.0 * 100, cfg_jitter_ns / 1e3, cfg_comp_ns / 1e3);
  for (int i = 0; i < 2; i++) {
    struct dir *d = &D[i];
    o += snprintf(out + o, on - o,
                  "%s{\"rx\":%llu,\"tx\":%llu,\"bytes\":%llu,\"lost\":%llu,\"qdrop\":%llu,\"werr\":%llu,\"late_avg_us\":%.2f,\"late_max_"
                  "us\":%.1f,\"maxq\":%llu}",
                  i ? "," : "", (unsigned long long)d->rx, (unsigned long long)d->tx, (unsigned long long)d->bytes,
                  (unsigned long long)d->lost, (unsigned long long)d->qdrop, (unsigned long long)d->werr,
                  d->tx ? d->late_sum_ns / 1e3 / d->tx : 0.0, d->late_max_ns / 1e3, (unsigned long long)d->maxq);
  }
  snprintf(out + o, on - o, "]}");
}
static void onsig(int s) {
  (void)s;
  stop_flag = 1;
}
int main(int c, char **v) {
  if (c < 5) {
    fprintf(stderr,
            "usage: %s NS_A DEV_A NS_B DEV_B [-d rtt_us] [-r bit/s] [-l loss%%] [-j jitter_us] [-q qbytes] [-c comp_us] [-s spin_us] [-u "
            "sock]\n",
            v[0]);
    return 2;
  }
  cfg_comp_ns = 0;
  cfg_spin_ns = 60000;
  const char *sock = NULL;
  int hotcpu = 0;
  int o;
  optind = 5;
  while ((o = getopt(c, v, "d:r:l:j:q:c:s:u:H")) != -1) switch (o) {
    case 'd':
      cfg_delay_ns = (int64_t)(atof(optarg) * 500);
      break;
    case 'r':
      cfg_rate = (int64_t)atof(optarg);
      break;
    case 'l':
      cfg_loss = (uint32_t)(atof(optarg) / 100 * 4294967295.0);
      break;
    case 'j':
      cfg_jitter_ns = (int64_t)(atof(optarg) * 1000);
      break;
    case 'q':
      cfg_queue = (int64_t)atof(optarg);
      break;
    case 'c':
      cfg_comp_ns = (int64_t)(atof(optarg) * 1000);
      break;
    case 's':
      cfg_spin_ns = (int64_t)(atof(optarg) * 1000);
      break;
    case 'u':
      sock = optarg;
      break;
    case 'H':
      hotcpu = 1;
      break;
    default:
      return 2;
    }
  mlockall(MCL_CURRENT);
  int cs = -1;
  if (sock) {
    cs = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strncpy(a.sun_path, sock, sizeof a.sun_path - 1);
    unlink(sock);
    if (bind(cs, (void *)&a, sizeof a)) die("bind");
    chmod(sock, 0600);
  }
  int a = tun_open(v[1], v[2]), b = tun_open(v[3], v[4]);
  signal(SIGTERM, onsig);
  signal(SIGINT, onsig);
  for (int i = 0; i < 2; i++) {
    struct dir *d = &D[i];
    d->in = i ? b : a;
    d->out = i ? a : b;
    d->name = i ? "dl-b2a" : "dl-a2b";
    d->rng = 0x9E3779B97F4A7C15ULL * (i + 1);
    d->buf = mmap(NULL, (size_t)SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (d->buf == MAP_FAILED) die("mmap");
    d->len = calloc(SLOTS, 2);
    d->due = calloc(SLOTS, 8);
    if (pthread_create(&d->th, NULL, run, d)) die("pthread");
  }
  if (hotcpu)
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++) {
      pthread_t t;
      pthread_create(&t, NULL, hot, (void *)i);
    }
  printf("ready\n");
  fflush(stdout);
  while (!stop_flag) {
    if (cs < 0) {
      pause();
      continue;
    }
    struct pollfd p = {.fd = cs, .events = POLLIN};
    if (poll(&p, 1, 500) <= 0) continue;
    char m[512], out[2048];
    struct sockaddr_un from;
    socklen_t fl = sizeof from;
    ssize_t n = recvfrom(cs, m, sizeof m - 1, 0, (void *)&from, &fl);
    if (n < 0) continue;
    m[n] = 0;
    parse(m, out, sizeof out);
    if (fl > sizeof(sa_family_t)) sendto(cs, out, strlen(out), 0, (void *)&from, fl);
  }
  for (int i = 0; i < 2; i++) pthread_join(D[i].th, NULL);
  if (sock) unlink(sock);
  return 0;
}
