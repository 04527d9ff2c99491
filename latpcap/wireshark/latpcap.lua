-- latpcap inside Wireshark (4.0 and newer): shows beside the packets what one run of latpcap found out about them.
--
-- It decodes nothing. The facts are lines of text (latpcap/wireshark/facts.py): of the file that LATPCAP_FACTS names, or
-- made of the open capture by a menu entry. They are data; nothing of them is run.

if tonumber(get_version():match("^%d+")) < 4 then
    return
end

-- How latpcap is called, as words for the shell: written by `latpcap wireshark install`.
local LATPCAP = "@LATPCAP@"
local FORMAT = "latpcap-facts\t4"
local COLUMNS = {
    "frame", "time", "stream", "exchange", "command", "response_frame", "response_end_frame", "round_trips", "rows",
    "retransmissions", "service_ms", "client_ms", "loss_ms", "delta_ms", "response_ms", "error", "statement",
}
-- Wireshark gives times to Lua as doubles, which near today are 0.24 µs apart; those of the facts are in ns.
local SAME_TIME_S = 1e-6
local NS = 1e-9
local MOST_BUTTONS = 8
local IS_WINDOWS = package.config:sub(1, 1) == "\\"

local latpcap = Proto("latpcap", "latpcap")
-- In the order in which the details show them.
local SHOWN = {
    { "exchange", "uint32", "Exchange of its connection" },
    { "command", "string", "Command" },
    { "statement", "string", "Statement" },
    { "error", "string", "Error" },
    { "retransmissions", "uint32", "Retransmissions" },
    { "round_trips", "uint32", "Round trips" },
    { "response_ms", "double", "Request's first packet to response's last (ms)" },
    { "service_ms", "double", "Service time (ms)" },
    { "client_ms", "double", "Client time before (ms)" },
    { "delta_ms", "double", "Since the request before (ms)" },
    { "loss_ms", "double", "Lost to retransmissions (ms)" },
    { "rows", "uint64", "Rows" },
}
local WORDS = { command = true, statement = true, error = true }
local fields = {
    response_in = ProtoField.framenum("latpcap.response_in", "Response in", base.NONE, frametype.RESPONSE),
    response_ends_in = ProtoField.framenum("latpcap.response_ends_in", "Response ends in", base.NONE, frametype.RESPONSE),
    request_in = ProtoField.framenum("latpcap.request_in", "Request in", base.NONE, frametype.REQUEST),
    finding = ProtoField.string("latpcap.finding", "Finding"),
    note = ProtoField.string("latpcap.note", "Note"),
    client = ProtoField.string("latpcap.client", "Client"),
}
for _, shown in ipairs(SHOWN) do
    fields[shown[1]] = ProtoField[shown[2]]("latpcap." .. shown[1], shown[3])
end
latpcap.fields = fields
local experts = {
    failed = ProtoExpert.new("latpcap.failed", "Failed", expert.group.RESPONSE_CODE, expert.severity.ERROR),
    retransmitted = ProtoExpert.new("latpcap.retransmitted", "Sent again", expert.group.SEQUENCE, expert.severity.WARN),
}
latpcap.experts = experts
local tcp_stream = Field.new("tcp.stream")

-- Facts: read once, taken apart when a packet is shown ---------------------------------------------------------------

local function cells(line)
    local found = {}
    for cell in (line .. "\t"):gmatch("([^\t]*)\t") do
        found[#found + 1] = cell
    end
    return found
end

-- Of most packets there is one thing to say: a list for each would take four times the room.
local function add(to, frame, what)
    local there = to[frame]
    if there == nil then
        to[frame] = what
    elseif type(there) == "table" then
        there[#there + 1] = what
    else
        to[frame] = { there, what }
    end
end

local function each(what)
    return ipairs(type(what) == "table" and what or { what })
end

local KINDS = {
    capture = function(facts, line)
        local _, first, last = table.unpack(cells(line))
        facts.first, facts.last = tonumber(first) * NS, tonumber(last) * NS
    end,
    client = function(facts, line)
        local _, stream, client = table.unpack(cells(line))
        facts.clients[tonumber(stream)] = client
    end,
    note = function(facts, line)
        local parts = cells(line)
        local note = table.concat(parts, ": ", 3)
        facts.notes[#facts.notes + 1] = note
        add(facts.noted, tonumber(parts[2]), note)
    end,
    finding = function(facts, line)
        local _, key, text = table.unpack(cells(line))
        facts.findings[#facts.findings + 1] = { key = key, text = text, streams = {} }
    end,
    range = function(facts, line)
        local _, number, stream, first, last = table.unpack(cells(line))
        local streams = facts.findings[tonumber(number)].streams
        streams[tonumber(stream)] = streams[tonumber(stream)] or {}
        table.insert(streams[tonumber(stream)], { tonumber(first), tonumber(last) })
    end,
    text = function(facts, line)
        facts.texts[#facts.texts + 1] = cells(line)[2]
    end,
    exchange = function(facts, line)
        local frame, response, response_end = line:match("^%S+\t(%d+)\t[^\t]*\t%d+\t%d+\t[^\t]*\t(%d*)\t(%d*)\t")
        frame, response, response_end = tonumber(frame), tonumber(response), tonumber(response_end)
        facts.exchanges = facts.exchanges + 1
        add(facts.asked, frame, line)
        for _, answer in ipairs({ response or response_end, response ~= response_end and response_end or nil }) do
            if answer ~= frame then
                add(facts.answered, answer, frame)
            end
        end
    end,
}

local function facts_of(path)
    local facts = { clients = {}, notes = {}, noted = {}, findings = {}, texts = {}, asked = {}, answered = {}, exchanges = 0 }
    local next_line = io.lines(path)
    assert(next_line() == FORMAT)
    for line in next_line do
        KINDS[line:match("^%a+")](facts, line)
    end
    assert(facts.first and facts.last)
    return facts
end

local function read_facts(path)
    local done, facts = pcall(facts_of, path)
    if done then
        return facts
    end
    report_failure("latpcap: " .. path .. ": holds no facts of this version (`latpcap wireshark install`)")
end

local function exchange_of(line, facts)
    local values, found = cells(line), {}
    for place, name in ipairs(COLUMNS) do
        local value = tonumber(values[place + 1])
        found[name] = WORDS[name] and facts.texts[value] or not WORDS[name] and value or nil
    end
    found.time = found.time and found.time * NS
    return found
end

-- Packets ------------------------------------------------------------------------------------------------------------

local facts
local wrong_from -- the first packet that is not the one that the facts are about: another capture is open
local is_of_menu -- they were made here
local selected -- the connection of the packet that is shown

function latpcap.init()
    wrong_from = nil
    local path = os.getenv("LATPCAP_FACTS")
    if not facts and path then
        facts = read_facts(path)
    end
end

-- Whether a packet is one of the capture that the facts are about; behind the first that is not nothing is shown.
local function check_time(pinfo, first, last)
    if pinfo.abs_ts < first - SAME_TIME_S or pinfo.abs_ts > last + SAME_TIME_S then
        wrong_from = math.min(wrong_from or pinfo.number, pinfo.number)
    end
end

local function is_within(ranges, frame)
    local low, high = 1, #ranges
    while low < high do
        local middle = math.ceil((low + high) / 2)
        if ranges[middle][1] <= frame then
            low = middle
        else
            high = middle - 1
        end
    end
    return ranges[low][1] <= frame and frame <= ranges[low][2]
end

local function findings_at(frame, stream)
    local found = {}
    for _, finding in ipairs(stream and facts.findings or {}) do
        if finding.streams[stream] and is_within(finding.streams[stream], frame) then
            found[#found + 1] = finding
        end
    end
    return found
end

-- What is seen while the details are folded.
local function summary(exchanges, answered)
    local first = exchanges[1]
    if not first then return answered and "latpcap: response" or "latpcap" end
    local took = first.response_ms and (", %.3f ms"):format(first.response_ms) or ""
    local more = #exchanges > 1 and (" (and %d more)"):format(#exchanges - 1) or ""
    local trips = first.round_trips == 1 and "1 round trip" or ("%d round trips"):format(first.round_trips)
    return ("latpcap: %s, %s%s%s"):format(first.command or "exchange", trips, took, more)
end

local function put(tree, name, value)
    tree:add(fields[name], value):set_generated()
end

local function show_exchange(tree, exchange)
    for _, shown in ipairs(SHOWN) do
        local name, kind = shown[1], shown[2]
        if exchange[name] then
            put(tree, name, kind == "uint64" and UInt64.new(exchange[name]) or exchange[name])
        end
    end
    local first, last = exchange.response_frame, exchange.response_end_frame
    if first and first ~= exchange.frame then
        put(tree, "response_in", first)
    end
    if last and last ~= first and last ~= exchange.frame then
        put(tree, "response_ends_in", last)
    end
    if exchange.error then
        tree:add_proto_expert_info(experts.failed, exchange.error)
    end
    if exchange.retransmissions and exchange.retransmissions > 0 then
        tree:add_proto_expert_info(experts.retransmitted, ("%d retransmissions"):format(exchange.retransmissions))
    end
end

local function show_answered(tree, frame)
    put(tree, "request_in", frame)
    for _, line in each(facts.asked[frame]) do
        local failed = exchange_of(line, facts).error
        if failed then
            tree:add_proto_expert_info(experts.failed, failed)
        end
    end
end

function latpcap.dissector(_, pinfo, tree)
    if not facts and not tree.visible then return end -- so others are not kept waiting
    local frame, streams = pinfo.number, { tcp_stream() }
    local stream = #streams > 0 and streams[#streams].value or nil -- in a tunnel the innermost is the last
    selected = tree.visible and stream or selected
    if not facts then return end
    local asked, answered, exchanges = facts.asked[frame], facts.answered[frame], {}
    check_time(pinfo, facts.first, facts.last)
    for _, line in each(asked) do
        local exchange = exchange_of(line, facts)
        exchanges[#exchanges + 1] = exchange
        check_time(pinfo, exchange.time or facts.first, exchange.time or facts.last)
    end
    if wrong_from and frame >= wrong_from then return end
    local found, noted = findings_at(frame, stream), facts.noted[frame]
    if not (asked or answered or noted or #found > 0) then
        return
    end
    local top = tree:add(latpcap, summary(exchanges, answered))
    for _, note in each(noted) do
        put(top, "note", note)
    end
    for _, exchange in ipairs(exchanges) do
        show_exchange(top, exchange)
    end
    for _, request in each(answered) do
        show_answered(top, request)
    end
    if stream and facts.clients[stream] then
        put(top, "client", facts.clients[stream])
    end
    for _, finding in ipairs(found) do
        local item = top:add(fields.finding, finding.key)
        item:set_text("Finding " .. finding.text)
        item:set_generated()
    end
end

register_postdissector(latpcap)

-- Menu ---------------------------------------------------------------------------------------------------------------

if not gui_enabled() then
    return
end

local function quoted(word)
    return IS_WINDOWS and '"' .. word .. '"' or "'" .. word:gsub("'", "'\\''") .. "'" -- no name holds a " on Windows
end

-- A name that nobody else has.
local function temporary()
    local name = os.tmpname()
    if IS_WINDOWS and not name:find(":") then
        name = os.getenv("TEMP") .. "\\" .. name:gsub("[\\.]", "")
    end
    return name
end

-- Run latpcap; what it says where it fails is shown.
local function run(arguments)
    local command = LATPCAP .. " " .. arguments .. " 2>&1"
    local pipe = io.popen(IS_WINDOWS and '"' .. command .. '"' or command)
    local said = pipe:read("*a")
    return pipe:close() or report_failure(said)
end

-- Write the packets of the open capture to a file, saved or not: Lua is not told where the open file lies.
local function write_open_capture(path)
    local dumper, is_whole = nil, true
    local tap = Listener.new("frame")
    function tap.packet()
        dumper = dumper or Dumper.new_for_current(path, wtap_name_to_file_type_subtype("nsecpcap"))
        is_whole = pcall(dumper.dump_current, dumper) and is_whole
    end
    retap_packets()
    tap:remove()
    if dumper then
        dumper:close()
    end
    return dumper and is_whole
end

-- Call `use` with the open capture and how to read it, as words for the shell.
local function with_capture(use)
    local given = os.getenv("LATPCAP_CAPTURE")
    if given and facts and not is_of_menu and not wrong_from then
        return use(given)
    end
    local path, keys = temporary(), get_preference("tls.keylog_file")
    if write_open_capture(path) then
        use(quoted(path) .. (keys and keys ~= "" and " --keylog " .. quoted(keys) or ""))
    else
        report_failure("latpcap: no capture is open, or it has several link types: run `latpcap wireshark FILE`")
    end
    os.remove(path)
end

local function show_findings()
    if not facts or wrong_from then
        report_failure("latpcap: nothing is known of this capture: Tools → latpcap → Analyse this capture")
        return
    end
    local window = TextWindow.new("latpcap: findings")
    window:append(("Exchanges: %d\nFindings: %d\n\n"):format(facts.exchanges, #facts.findings))
    for number, finding in ipairs(facts.findings) do
        window:append(("%d. %s\n   latpcap.finding == \"%s\"\n\n"):format(number, finding.text, finding.key))
        if number <= MOST_BUTTONS then
            window:add_button(finding.key, function()
                set_filter(("latpcap.finding == \"%s\""):format(finding.key))
                apply_filter()
            end)
        end
    end
    window:append(table.concat(facts.notes, "\n"))
end

local function analyse()
    with_capture(function(capture)
        local path = temporary()
        if run("wireshark " .. capture .. " -o " .. quoted(path)) then
            facts, is_of_menu, wrong_from = read_facts(path), true, nil
            redissect_packets() -- which closes all windows of plugins
        end
        os.remove(path)
    end)
end

local function report(options)
    with_capture(function(capture)
        local name = temporary()
        local page = name .. ".html"
        os.rename(name, page) -- only you may read it, and it stays so when it is written
        if run("analyze " .. capture .. options .. " --quiet -o " .. quoted(page)) then
            browser_open_data_file(page)
        end
    end)
end

-- Options become words for the shell, so they are numbers and units only.
local function report_with(option, value, wanted)
    if tostring(value):match("^%w[%w.,]*$") and value then
        report((" --%s %s"):format(option, value))
    else
        report_failure("latpcap: " .. wanted)
    end
end

local function project()
    new_dialog("latpcap: the same at another round-trip time", function(rtt)
        report_with("rtt", rtt, "RTTs are written as 15ms or 1ms,15ms,50ms")
    end, { name = "RTT, for instance 15ms", value = "15ms" })
end

local function report_conversation()
    report_with("stream", selected, "select a packet of a TCP connection")
end

register_menu("latpcap/Analyse this capture", analyse, MENU_TOOLS_UNSORTED)
register_menu("latpcap/Findings of this capture", show_findings, MENU_TOOLS_UNSORTED)
register_menu("latpcap/Report of this capture", function() report("") end, MENU_TOOLS_UNSORTED)
register_menu("latpcap/Report of this conversation only", report_conversation, MENU_TOOLS_UNSORTED)
register_menu("latpcap/Project at…", project, MENU_TOOLS_UNSORTED)
