// What a Go program on gopacket makes of a capture of MySQL: reassembled, cut into messages, paired, with handshake RTTs.
//
//	gopacket CAPTURE
//
// It is written for speed with what gopacket offers for that: packets without a copy, one parser whose layers are
// decoded in place, its own reassembly. The answer is one line of JSON, as every peer's.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/gopacket/gopacket/reassembly"
)

// Answer is what every peer is asked for.
type Answer struct {
	Packets     int     `json:"packets"`
	Connections int     `json:"connections"`
	Queries     int     `json:"queries"`
	Answered    int     `json:"answered"`
	Statements  int     `json:"statements"`
	RTTMs       float64 `json:"rtt_ms"`
}

// Read is what has been read so far, of all connections.
type Read struct {
	answer      Answer
	statements  map[string]int
	fingerprint []byte
	rtts        []time.Duration
}

func main() {
	answer, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(answer)
}

func read(path string) (Answer, error) {
	file, err := os.Open(path)
	if err != nil {
		return Answer{}, err
	}
	defer file.Close()
	packets, err := pcapgo.NewReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return Answer{}, err
	}
	all := &Read{statements: map[string]int{}}
	assembler := reassembly.NewAssembler(reassembly.NewStreamPool(all))
	if err := decode(packets, assembler, &all.answer); err != nil {
		return Answer{}, err
	}
	assembler.FlushAll()
	return all.finished(), nil
}

func decode(packets *pcapgo.Reader, assembler *reassembly.Assembler, answer *Answer) error {
	var ethernet layers.Ethernet
	var ip layers.IPv4
	var tcp layers.TCP
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &ethernet, &ip, &tcp)
	parser.IgnoreUnsupported = true // what TCP carries is read from its stream
	decoded := make([]gopacket.LayerType, 0, 4)
	for {
		data, info, err := packets.ZeroCopyReadPacketData()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer.Packets++
		if parser.DecodeLayers(data, &decoded) != nil || len(decoded) < 3 {
			continue
		}
		assembler.AssembleWithContext(ip.NetworkFlow(), &tcp, at(info))
	}
}

// New is called by the assembler for each connection: it makes what its bytes go to.
func (all *Read) New(network, transport gopacket.Flow, tcp *layers.TCP, context reassembly.AssemblerContext) reassembly.Stream {
	return &Connection{all: all}
}

// statement counts a text without its numbers: less than latpcap removes, enough to tell these texts apart.
func (all *Read) statement(text []byte) {
	print := all.fingerprint[:0]
	word := false
	for _, char := range text {
		digit := '0' <= char && char <= '9'
		switch {
		case !digit || word:
			print = append(print, char)
		case len(print) == 0 || print[len(print)-1] != '?':
			print = append(print, '?')
		}
		word = char == '_' || 'a' <= char|0x20 && char|0x20 <= 'z' || digit && word
	}
	all.fingerprint = print
	if _, known := all.statements[string(print)]; !known {
		all.statements[string(print)] = 0
	}
	all.statements[string(print)]++
}

func (all *Read) finished() Answer {
	answer := all.answer
	answer.Statements = len(all.statements)
	if len(all.rtts) > 0 {
		slices.Sort(all.rtts)
		answer.RTTMs = all.rtts[len(all.rtts)/2].Seconds() * 1000
	}
	return answer
}

// at is when a packet was captured, as the assembler wants it.
type at gopacket.CaptureInfo

// GetCaptureInfo is all that a context has to tell.
func (when at) GetCaptureInfo() gopacket.CaptureInfo { return gopacket.CaptureInfo(when) }
