// Invalid flags of `keystrokes`, each with its sentence.

import { testRefusals } from '../lab/testing.ts'
import { keystrokes } from './keystrokes.ts'

testRefusals(keystrokes, [
  ['--modes sse/4', /--modes names "sse\/4"; there are sse\/3, sse\/2, sse\/1.1, websocket\/1.1, /],
  ['--modes sse/2,sse/3', /^Error: sse\/3 needs a front: add --front\.$/],
  ['--front --modes websocket/2', /whether a front carries websocket\/2, or HTTP\/1\.1 in its place/],
  ['--front --server https://x', /leave out --server, --remote, --join, --host and --peers, or --front/],
  ['--front --join 1', /the front is before Crosswind’s own server on this machine/],
  ['--front --host lab.local', /the front is before Crosswind’s own server on this machine/],
  ['--front --remote http://laptop:4444', /the front is before Crosswind’s own server on this machine/],
  ['--front --peers bare', /the front is before Crosswind’s own server on this machine/],
  ['--keys many', /--keys is "many"/],
  [
    '--peers sockjs',
    /--peers names "sockjs", and no such package .* bare, bare-yjs, ws, socket\.io, .*a package's name/,
  ],
  ['--peers ./hub.mjs', /--peers names "\.\/hub\.mjs": there is no file/],
  ['--peers koa=https://x --profile lan', /--profile simulates a network for what runs on this/],
  ['--server http://x', /--server is "http:\/\/x": must be an https address/],
  ['--keys 2 --blocks 3', /keys must be at least as many as blocks/],
  ['--editor vi', /--editor is "vi": there are shared, mirror\./],
  ['--editor shared,mirror --server https://x', /the mirror editor is an application of its own, on this/],
  ['--editor mirror --front', /leave it out of --editor, or leave out --server, .* --front and --sensor/],
  ['--editor mirror --sensor simulated', /on this machine and without wind/],
  ['--windows 6', /--windows is 6: sse\/1.1 supports 5 windows per browser/],
  ['--until done', /--until is "done": must be decided\./],
  ['--matters 5', /--matters is "5": must be like 1ms or 5%\./],
  ['--until decided --sessions 2', /with --until or --quick, --sessions is a minimum of at least 3/],
  ['--profile mars', /--profile is "mars": there are loopback, lan, wan, mobile, edmonton/],
  ['--profile wan+99%', /--profile is "wan\+99%": .* a loss of packets of up to 50 %, such as wan\+1%/],
  ['--profile lan,wan --editor shared,mirror', /several networks are compared with each other alone/],
  ['--profile lan --server https://x', /a profile is simulated on this machine/],
  ['--join 1 --profile lan', /a profile is simulated on this machine/],
  ['--join 1 --server https://x', /the lab starts the server that devices join/],
  [
    '--peers bare --server https://x',
    /bare of --peers would run on this machine, and the server at https:\/\/x/,
  ],
  ['--join 1 --peers bare', /peers run on this machine/],
  ['--join all', /--join is "all"/],
  ['--host https://x', /--host is "https:\/\/x": must be a name or address of this machine/],
  ['--tls-cert-file a.pem', /--tls-cert-file and --tls-key-file belong together/],
])
