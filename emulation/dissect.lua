-- Shows Roamcast datagrams in Wireshark and tshark. The tables HEADER and MESSAGES, and the constants, come before
-- this, made from node/schema/ (see dissect.py). Every field of every message can be filtered for:
-- roamcast.type == "EVENT", roamcast.hello.leader == 17, roamcast.event.attributes contains "temp".

local roamcast = Proto("roamcast", "Roamcast")
local UNSIGNED = {u8 = true, u16 = true, u32 = true, node = true, epoch = true}
local COMPOSITE = {list = true, tuple = true, filter = true, attributes = true}

-- Filter fields: roamcast.<header field>, roamcast.<message>.<field>.
local fields = {type = ProtoField.string("roamcast.type", "type"), tag = ProtoField.bytes("roamcast.tag", "tag")}
local registered = {fields.type, fields.tag}

local function register(key, field)
  fields[key] = field
  registered[#registered + 1] = field
end

for _, part in ipairs(HEADER) do
  local make = part.text and ProtoField.string or ProtoField.uint32
  local abbreviation = "roamcast." .. part.name
  register(part.name, part.text and make(abbreviation, part.name, base.ASCII, part.doc)
    or make(abbreviation, part.name, base.DEC, nil, nil, part.doc))
end
for _, message in pairs(MESSAGES) do
  for _, field in ipairs(message.fields) do
    local abbreviation = "roamcast." .. message.name:lower() .. "." .. field.name
    local title = field.unit == "" and field.name or field.name .. " [" .. field.unit .. "]"
    local kind = field.type.kind == "optional" and field.type[1].kind or field.type.kind
    local made
    if UNSIGNED[kind] then
      made = ProtoField.uint32(abbreviation, title, base.DEC, nil, nil, field.doc)
    elseif kind == "u64" then
      made = ProtoField.uint64(abbreviation, title, base.HEX, nil, nil, field.doc)
    elseif kind == "bool" then
      made = ProtoField.bool(abbreviation, title, base.NONE, nil, nil, field.doc)
    elseif kind == "f64" then
      made = ProtoField.double(abbreviation, title, field.doc)
    elseif kind == "bytes" then
      made = ProtoField.bytes(abbreviation, title, base.NONE, field.doc)
    else
      made = ProtoField.string(abbreviation, title, base.UNICODE, field.doc)
    end
    register(message.name .. "." .. field.name, made)
  end
end
roamcast.fields = registered
local malformed = ProtoExpert.new("roamcast.malformed", "Malformed datagram", expert.group.MALFORMED,
  expert.severity.ERROR)
roamcast.experts = {malformed}

-- ---- CBOR ------------------------------------------------------------------------------------------
-- An item is {major, value, from, size}: value is a number, boolean or string, for arrays a list of items,
-- for maps a list of pairs of items; `inside` is where the contents of a byte string begin, `wide` the
-- UInt64 of an unsigned integer.

local function head(tvb, at)
  local first = tvb(at, 1):uint()
  local major, short = math.floor(first / 32), first % 32
  if short < 24 then return major, short, short, 1, UInt64.new(short, 0) end
  if short > 27 then error("an indefinite length or a reserved form") end
  local size = 2 ^ (short - 24)
  local range = tvb(at + 1, size)
  if size == 8 then return major, short, range:uint64():tonumber(), 9, range:uint64() end
  return major, short, range:uint(), 1 + size, UInt64.new(range:uint(), 0)
end

local read

local function read_items(tvb, at, count, depth)
  if depth >= MAX_DEPTH then error("nested too deeply") end
  if count > tvb:len() then error("more items than bytes") end
  local items = {}
  for i = 1, count do
    items[i] = read(tvb, at, depth + 1)
    at = at + items[i].size
  end
  return items, at
end

function read(tvb, at, depth)
  local major, short, argument, size, wide = head(tvb, at)
  local item = {major = major, from = at, value = argument, wide = wide}
  local past = at + size
  if major == 1 then
    item.value = -1 - argument
  elseif major == 2 or major == 3 then
    item.inside, item.length = past, argument
    if argument > tvb:len() - past then error("a string longer than the datagram") end
    item.value = ""
    if argument > 0 then
      local range = tvb(past, argument)
      item.value = major == 2 and range:bytes():tohex(true) or range:string(ENC_UTF_8)
    end
    past = past + argument
  elseif major == 4 then
    item.value, past = read_items(tvb, past, argument, depth)
  elseif major == 5 then
    item.value, past = read_items(tvb, past, argument * 2, depth)
  elseif major == 6 then
    error("a tag")
  elseif major == 7 then
    if short == 20 or short == 21 then
      item.value = short == 21
    elseif short == 22 then
      item.value = nil
    elseif short == 27 then
      item.value = tvb(at + 1, 8):float()
    else
      error("a simple value that is not ours")
    end
    item.simple = short
  end
  item.size = past - at
  return item
end

-- ---- values as text --------------------------------------------------------------------------------
-- Texts come from the air. What a terminal would obey or hide is written out as \u001b, as the filter language does: control
-- characters, and in UTF-8 those of C1, marks of direction, what has no width, ends of lines and of paragraphs, tags.

local HIDDEN = {
  "[%z\1-\31\127]", "\194[\128-\159\173]", "\216\156", "\225\160\142", "\226\128[\139-\143\168-\174]", "\226\129[\160-\175]",
  "\239\187\191", "\239\191[\185-\187]", "\243\160[\128-\129][\128-\191]",
}

local function written_out(letter)
  local first, rest = letter:byte(1), {letter:byte(2, -1)}
  local code = #rest == 0 and first or first % 2 ^ (6 - #rest)
  for _, byte in ipairs(rest) do code = code * 64 + byte % 64 end
  return string.format(code < 0x10000 and "\\u%04x" or "\\U%08x", code)
end

local function visible(text)
  for _, hidden in ipairs(HIDDEN) do text = text:gsub(hidden, written_out) end
  return text
end

local function number_text(value)
  if value == math.floor(value) and math.abs(value) < 2 ^ 63 then return string.format("%.0f", value) end
  return string.format("%.17g", value)
end

local function plain(item)
  if item.major == 2 then return "0x" .. item.value end
  if item.major == 3 then return '"' .. visible(item.value:gsub('[\\"]', "\\%0")) .. '"' end
  if item.major == 7 and item.simple ~= 27 then return item.simple == 22 and "none" or tostring(item.value) end
  if item.major == 4 or item.major == 5 then
    local parts = {}
    for i, one in ipairs(item.value) do parts[i] = plain(one) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  return number_text(item.value)
end

local function constraint_text(item)
  local parts = item.value
  local name, op = visible(tostring(parts[1].value)), visible(tostring(parts[2].value))
  local values = {}
  for i = 3, #parts do values[i - 2] = plain(parts[i]) end
  local shown = table.concat(values, ", ")
  if op == "exists" then return name .. " exists" end
  return name .. " " .. op .. " " .. (op == "in" and "[" .. shown .. "]" or shown)
end

local function text(kind, item)
  if kind.kind == "optional" then return item.simple == 22 and "none" or text(kind[1], item) end
  local parts = {}
  if kind.kind == "filter" and item.major == 4 then
    for i, one in ipairs(item.value) do parts[i] = constraint_text(one) end
    return #parts == 0 and "*" or table.concat(parts, " and ")
  elseif kind.kind == "attributes" and item.major == 5 then
    for i = 1, #item.value, 2 do parts[#parts + 1] = visible(tostring(item.value[i].value)) .. " = " .. plain(item.value[i + 1]) end
    return table.concat(parts, ", ")
  elseif kind.kind == "list" and item.major == 4 then
    for i, one in ipairs(item.value) do parts[i] = text(kind[1], one) end
    return "[" .. table.concat(parts, ", ") .. "]"
  elseif kind.kind == "tuple" and item.major == 4 then
    for i, one in ipairs(item.value) do parts[i] = kind[i] and text(kind[i], one) or plain(one) end
    return "(" .. table.concat(parts, ", ") .. ")"
  elseif COMPOSITE[kind.kind] then
    error("no " .. kind.kind .. " where one should be")
  end
  return plain(item)
end

-- ---- the tree --------------------------------------------------------------------------------------

local function add_field(tree, tvb, field, proto_field, item)
  local kind = field.type.kind == "optional" and field.type[1] or field.type
  local range = tvb(item.from, item.size)
  if item.simple == 22 then
    tree:add(range, field.name .. ": none")
  elseif UNSIGNED[kind.kind] and item.major == 0 then
    tree:add(proto_field, range, item.value)
  elseif kind.kind == "u64" and item.major == 0 then
    tree:add(proto_field, range, item.wide)
  elseif kind.kind == "bool" and item.major == 7 then
    tree:add(proto_field, range, item.value)
  elseif kind.kind == "f64" and item.simple == 27 then
    tree:add(proto_field, range, item.value)
  elseif kind.kind == "bytes" and item.major == 2 then
    if item.length == 0 then
      tree:add(range, field.name .. ": empty")
    else
      tree:add(proto_field, tvb(item.inside, item.length))
    end
  elseif UNSIGNED[kind.kind] or kind.kind == "u64" or kind.kind == "bool" or kind.kind == "f64"
      or kind.kind == "bytes" then
    error(field.name .. " is not of its type")
  elseif kind.kind == "text" then
    tree:add(proto_field, range, visible(tostring(item.value)))
  else
    local branch = tree:add(proto_field, range, text(kind, item))
    if kind.kind == "list" and item.major == 4 then
      for _, one in ipairs(item.value) do branch:add(tvb(one.from, one.size), text(kind[1], one)) end
    elseif kind.kind == "attributes" and item.major == 5 then
      for i = 1, #item.value, 2 do
        local name, value = item.value[i], item.value[i + 1]
        branch:add(tvb(name.from, name.size + value.size), visible(tostring(name.value)) .. " = " .. plain(value))
      end
    end
  end
end

local function add_message(tree, tvb, item, names)
  local code = item.major == 4 and item.value[1] and item.value[1].value
  local message = MESSAGES[code]
  if not message then error("a message of unknown code " .. tostring(code)) end
  local branch = tree:add(roamcast, tvb(item.from, item.size), message.name)
  branch:append_text(": " .. message.doc)
  branch:add(fields.type, tvb(item.from, item.size), message.name)
  local inside
  for i, field in ipairs(message.fields) do
    local value = item.value[i + 1]
    if not value then error(message.name .. " has too few fields") end
    if field.type.kind == "message" then
      inside = add_message(branch, tvb, value, {})
    else
      add_field(branch, tvb, field, fields[message.name .. "." .. field.name], value)
    end
  end
  if #item.value ~= #message.fields + 1 then error(message.name .. " has too many fields") end
  names[#names + 1] = inside and message.name .. "(" .. inside .. ")" or message.name
  return message.name
end

local function add_body(tree, tvb, stop, names)
  local body = read(tvb, HEADER_BYTES, 0)
  if body.major ~= 4 then error("the body is no array") end
  for _, item in ipairs(body.value) do add_message(tree, tvb, item, names) end
  if body.from + body.size ~= stop then error("bytes are left over") end
end

function roamcast.dissector(buffer, pinfo, root)
  if buffer:len() < HEADER_BYTES or buffer(0, #MAGIC):string() ~= MAGIC or buffer(#MAGIC, 1):uint() ~= VERSION then
    return 0
  end
  local tvb, values = buffer, {}
  local tree = root:add(roamcast, buffer(), "Roamcast")
  for _, part in ipairs(HEADER) do
    local range = buffer(part.offset, part.size)
    values[part.name] = not part.text and range:uint()
    tree:add(fields[part.name], range)
  end
  local stop = buffer:len()
  if values.flags % 2 == 1 then stop = stop - TAG_BYTES end
  local names = {}
  local fine, problem = pcall(add_body, tree, tvb, stop, names)
  if fine and stop < buffer:len() then tree:add(fields.tag, buffer(stop)) end
  local summary = string.format("%d.%d #%d %s", values.sender, values.epoch, values.counter, table.concat(names, ", "))
  if not fine then
    problem = visible(tostring(problem):gsub("^.*:%d+: ", ""))
    tree:add_proto_expert_info(malformed, "Malformed: " .. problem)
    summary = summary .. " [malformed: " .. problem .. "]"
  end
  tree:append_text(", " .. summary)
  pinfo.cols.protocol = "Roamcast"
  pinfo.cols.info = summary
  return buffer:len()
end

DissectorTable.get("udp.port"):add(PORT, roamcast)
