// Publishes a line to a channel, and prints what everybody writes there: go run . URL CHANNEL [TEXT]
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

type message struct {
	Body struct{ Data struct{ Text string } }
}

var base, channel, name = os.Args[1], os.Args[2], fmt.Sprintf("go%x", time.Now().UnixNano())

// ask repeats a request while the server cannot be reached, or asks to wait.
func ask(method, path, cursor string, body []byte) io.ReadCloser {
	for ; ; time.Sleep(time.Second) {
		request, _ := http.NewRequest(method, base+path, bytes.NewReader(body))
		request.Header = http.Header{"Content-Type": {"application/json"}, "Last-Event-Id": {cursor}}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		} else if answer.StatusCode == 200 {
			return answer.Body
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains("408 429 500 503", answer.Status[:3]) {
			log.Fatalf("%s: %s", answer.Status, text)
		}
	}
}

// publish stores a text once, however often the same draft is sent.
func publish(text string) {
	draft := map[string]any{"id": name + "-1", "channel": channel, "kind": "json", "from": name, "at": 0,
		"body": map[string]any{"data": map[string]string{"text": text}}}
	body, _ := json.Marshal(draft)
	ask("POST", "/messages", "", body).Close()
}

// stored shows what is stored after a cursor, and returns the one at which the stream goes on.
func stored(after string, show func(message)) string {
	var page struct {
		Messages []message
		Cursor   string
	}
	body := ask("GET", "/channels/"+url.PathEscape(channel)+"?after="+after, "", nil)
	json.NewDecoder(body).Decode(&page)
	body.Close()
	for _, one := range page.Messages {
		show(one)
	}
	if page.Cursor != after {
		return stored(page.Cursor, show)
	}
	return page.Cursor
}

// follow shows all messages of the channel: those that are stored, then new ones.
func follow(show func(message)) {
	path := "/stream?" + url.Values{"window": {name}, "channels": {channel}}.Encode()
	for cursor := stored("start", show); ; time.Sleep(time.Second) {
		stream := ask("GET", path, cursor, nil)
		event := map[string]string{}
		for lines := bufio.NewReader(stream); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			event[field] = value
			if field != "" {
				continue
			} else if event["event"] == "message" {
				var one message
				json.Unmarshal([]byte(event["data"]), &one)
				show(one)
				cursor = event["id"]
			} else if event["event"] == "welcome" && strings.Contains(event["data"], `"recovered":false`) {
				// The stream no longer has what follows the cursor: read what is kept of the channel.
				cursor = stored(cursor, show)
				break
			}
		}
		stream.Close()
	}
}

func main() {
	if len(os.Args) > 3 {
		publish(os.Args[3])
	}
	follow(func(one message) { fmt.Println(one.Body.Data.Text) })
}
