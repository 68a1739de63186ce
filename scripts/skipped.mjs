// A reporter for Node's test runner: lists at the end what was skipped, by reason.

export default async function* skipped(source) {
  const tests = new Map()
  for await (const { type, data } of source) {
    if (type !== 'test:pass' || data.skip === undefined) continue
    const reason = data.skip === true ? 'no reason is given' : data.skip
    tests.set(reason, [...(tests.get(reason) ?? []), data.name])
  }
  if (tests.size > 0) yield '\nskipped:\n'
  for (const [reason, names] of tests) {
    const others = names.length > 1 ? `, and ${names.length - 1} more` : ''
    yield `  ${reason}: “${names[0]}”${others}\n`
  }
}
