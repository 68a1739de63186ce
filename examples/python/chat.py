"""Publishes a line to a channel, and prints what everybody writes there: chat.py URL CHANNEL [TEXT]"""

import http.client, json, sys, time, urllib.error, urllib.parse, urllib.request

URL, CHANNEL, *TEXT = sys.argv[1:]
NAME = f"py{time.time_ns():x}"

def ask(path, body=None, cursor=""):
    """Repeats a request while the server cannot be reached, or asks to wait."""
    headers = {"Content-Type": "application/json", "Last-Event-ID": cursor}
    while True:
        try:
            return urllib.request.urlopen(urllib.request.Request(URL + path, body, headers), timeout=60)
        except urllib.error.HTTPError as error:
            if error.code not in (408, 429, 500, 503): sys.exit(error.read().decode())
        except (OSError, http.client.HTTPException): pass
        time.sleep(1)

def publish(data):
    """The same draft, sent again, is stored once."""
    draft = {"id": f"{NAME}-1", "channel": CHANNEL, "kind": "json", "from": NAME, "at": 0, "body": {"data": data}}
    ask("/messages", json.dumps(draft).encode())

def follow():
    """All messages of the channel: those that are stored, then new ones."""
    query = urllib.parse.urlencode({"window": NAME, "channels": CHANNEL})
    cursor, is_read = "start", False
    while True:
        while not is_read:
            page = json.load(ask(f"/channels/{urllib.parse.quote(CHANNEL)}?after={cursor}"))
            yield from page["messages"]
            is_read, cursor = page["cursor"] == cursor, page["cursor"]
        event = {}
        try:
            for line in ask(f"/stream?{query}", cursor=cursor):
                field, _, value = line.decode().rstrip("\n").partition(": ")
                event[field] = value
                if field: continue
                frame = json.loads(event["data"])
                if event["event"] == "message":
                    yield frame
                    cursor = event["id"]
                elif event["event"] == "welcome" and not frame["recovered"]:
                    # The stream no longer has what follows the cursor: read what is kept of the channel.
                    is_read = False
                    break
        except (OSError, http.client.HTTPException): pass
        time.sleep(1)

if TEXT: publish({"text": TEXT[0]})
for message in follow(): print(message["body"]["data"]["text"], flush=True)
