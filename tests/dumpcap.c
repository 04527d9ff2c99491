/* A dumpcap for Wine, which has no Npcap: it "captures" a file that exists, and ends as Wireshark's does.
 * dumpcap … -i NAME … -w FILE …; the packets are those of %LATPCAP_CAPTURED%. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static HANDLE ended;

static BOOL WINAPI on_event(DWORD event) {
    SetEvent(ended);
    return event == CTRL_BREAK_EVENT;
}

static const char *after(int count, char **words, const char *option) {
    for (int at = 1; at + 1 < count; at++)
        if (!strcmp(words[at], option)) return words[at + 1];
    return "";
}

int main(int count, char **words) {
    ended = CreateEventA(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(on_event, TRUE);
    const char *on = after(count, words, "-i"), *to = after(count, words, "-w");
    if (strcmp(on, "Ethernet")) {
        fprintf(stderr, "dumpcap: There is no device named \"%s\".\n", on);
        return 2;
    }
    if (!CopyFileA(getenv("LATPCAP_CAPTURED"), to, FALSE)) return 1;
    FILE *held = fopen(to, "ab"); /* as long as it captures, nobody can delete it */
    fprintf(stderr, "Capturing on 'Ethernet'\nFile: %s\n", to);
    WaitForSingleObject(ended, 60000);
    fprintf(stderr, "Packets received/dropped on interface 'Ethernet': 12/3 (pcap:3/dumpcap:0/flushed:0/ps_ifdrop:0)\n");
    return fclose(held);
}
