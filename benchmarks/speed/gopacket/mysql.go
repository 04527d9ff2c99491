package main

import (
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/reassembly"
)

const (
	comQuery   = 3
	headerSize = 4
)

// Connection is one TCP connection that speaks MySQL: requests are packets of sequence number 0 from the client.
type Connection struct {
	all            *Read
	opened         time.Time
	client, server Cutter
	// waiting: a query was sent, and no byte of its answer came yet.
	waiting bool
}

// Accept sees each packet before its bytes are reassembled: the handshake's times are taken here.
func (c *Connection) Accept(tcp *layers.TCP, info gopacket.CaptureInfo, direction reassembly.TCPFlowDirection, next reassembly.Sequence, start *bool, context reassembly.AssemblerContext) bool {
	*start = true
	switch {
	case tcp.SYN && !tcp.ACK:
		c.opened = info.Timestamp
		c.all.answer.Connections++
	case !tcp.SYN && tcp.ACK && !c.opened.IsZero():
		c.all.rtts = append(c.all.rtts, info.Timestamp.Sub(c.opened))
		c.opened = time.Time{}
	}
	return true
}

// ReassembledSG brings bytes in their order.
func (c *Connection) ReassembledSG(gather reassembly.ScatterGather, context reassembly.AssemblerContext) {
	length, _ := gather.Lengths()
	if length == 0 {
		return
	}
	direction, _, _, _ := gather.Info()
	bytes := gather.Fetch(length)
	if direction == reassembly.TCPDirClientToServer {
		c.client.cut(bytes, c.request)
		return
	}
	if c.waiting {
		c.waiting = false
		c.all.answer.Answered++
	}
	c.server.cut(bytes, nil)
}

// ReassemblyComplete forgets the connection.
func (c *Connection) ReassemblyComplete(context reassembly.AssemblerContext) bool { return true }

func (c *Connection) request(body []byte) {
	if len(body) == 0 || body[0] != comQuery {
		return
	}
	c.all.answer.Queries++
	c.waiting = true
	c.all.statement(body[1:])
}

// Cutter cuts one direction into MySQL's packets; bodies that nobody wants are skipped.
type Cutter struct {
	header [headerSize]byte
	have   int
	left   int
	body   []byte
	wanted bool
}

// cut calls `take` with the body of each packet whose sequence number is 0.
func (c *Cutter) cut(bytes []byte, take func([]byte)) {
	for len(bytes) > 0 {
		if c.left == 0 {
			part := copy(c.header[c.have:], bytes)
			c.have += part
			bytes = bytes[part:]
			if c.have == headerSize {
				c.begin(take != nil)
			}
			continue
		}
		part := min(c.left, len(bytes))
		c.left -= part
		if c.wanted {
			c.part(bytes[:part], take)
		}
		bytes = bytes[part:]
	}
}

func (c *Cutter) begin(wanted bool) {
	c.have = 0
	c.left = int(c.header[0]) | int(c.header[1])<<8 | int(c.header[2])<<16
	c.wanted = wanted && c.header[3] == 0
	c.body = c.body[:0]
}

// part copies only what came in pieces.
func (c *Cutter) part(bytes []byte, take func([]byte)) {
	switch {
	case c.left == 0 && len(c.body) == 0:
		take(bytes)
	default:
		c.body = append(c.body, bytes...)
		if c.left == 0 {
			take(c.body)
		}
	}
}
