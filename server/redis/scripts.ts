// The scripts of the log in Redis: each runs alone, so that what it sees and writes is of one moment.

/** Of the keys and the scripts. */
export const version = 1

/**
 * The keys of a log. Those of one log are in one slot of a cluster. `log` is a hash with the version, the
 * epoch and the newest number; `messages` a stream, whose ids are the numbers; `keys` a hash with the
 * number of each message by its key; `kept` a hash with "NUMBER TEXT" by name. Each channel has a sorted
 * set of its numbers.
 */
export const keysOf = (name: string) => ({
  log: `{${name}}:log`,
  messages: `{${name}}:messages`,
  keys: `{${name}}:keys`,
  kept: `{${name}}:kept`,
  channel: `{${name}}:channel:`,
})

/** KEYS: log, messages, keys, kept. ARGV: version, epoch of a new log. Returns the log's version. */
export const create = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'epoch', ARGV[2], 'head', '0')
end
return redis.call('HGET', KEYS[1], 'version')`

/**
 * KEYS: log, messages, keys. ARGV: known epoch and head, prefix of channels, topic to publish to; then of
 * each draft its key, channel, time, text, and the number of an erased message or "". Returns numbers,
 * or nil.
 */
export const append = `
local log = redis.call('HMGET', KEYS[1], 'epoch', 'head')
if log[1] ~= ARGV[1] or tonumber(log[2]) < tonumber(ARGV[2]) then return false end
local last = tonumber(log[2])
local numbers = {}
for i = 5, #ARGV, 5 do
  local key, channel, at, text, erased = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local found = redis.call('HGET', KEYS[3], key)
  if found and found == erased then
    redis.call('XDEL', KEYS[2], found .. '-0')
    redis.call('ZREM', ARGV[3] .. channel, found)
    found = false
  end
  if not found then
    last = last + 1
    found = string.format('%.0f', last)
    redis.call('XADD', KEYS[2], found .. '-0', 'key', key, 'at', at, 'channel', channel, 'text', text)
    redis.call('HSET', KEYS[3], key, found)
    redis.call('ZADD', ARGV[3] .. channel, found, found)
  end
  numbers[#numbers + 1] = tonumber(found)
end
redis.call('HSET', KEYS[1], 'head', string.format('%.0f', last))
redis.call('PUBLISH', ARGV[4], '')
return numbers`

/** Largest portion of messages that is read at once; one larger message is a portion, too. */
const portion = { messages: 500, bytes: 1_048_576 }

/**
 * KEYS: log, messages. ARGV: a number. Returns the epoch, the head, the key and the time of the message
 * with that number or "", then number and text of each later message; nil if there is no log.
 */
export const read = `
local log = redis.call('HMGET', KEYS[1], 'epoch', 'head')
if not log[1] then return false end
local page = { log[1], log[2], '', '' }
local known = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', ARGV[1] .. '-0')[1]
if known then page[3], page[4] = known[2][2], known[2][4] end
local bytes = 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '+', 'COUNT', ${portion.messages})) do
  local text = entry[2][8]
  bytes = bytes + #text
  if #page > 4 and bytes > ${portion.bytes} then break end
  page[#page + 1] = string.match(entry[1], '^%d+')
  page[#page + 1] = text
end
return page`

/** KEYS: log. ARGV: the epoch, and the next one. */
export const endEpoch = `
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('HSET', KEYS[1], 'epoch', ARGV[2]) end`

/** KEYS: messages, keys, the channel. ARGV: its name, a number. Returns whether that was all. */
export const purge = `
local numbers = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[2], 'LIMIT', 0, 500)
for _, number in ipairs(numbers) do
  local entry = redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0')[1]
  if entry and entry[2][6] == ARGV[1] then
    redis.call('XDEL', KEYS[1], entry[1])
    if redis.call('HGET', KEYS[2], entry[2][2]) == number then redis.call('HDEL', KEYS[2], entry[2][2]) end
  end
  redis.call('ZREM', KEYS[3], number)
end
return #numbers < 500`

/** KEYS: kept. ARGV: name, number, text. */
export const keep = `
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known and tonumber(string.match(known, '^%d+')) >= tonumber(ARGV[2]) then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])`
