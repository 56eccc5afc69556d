import { simulateRestores } from './simulation/restores.ts'

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 20),
  full = process.argv[4]
let steps = 0
const s = performance.now()
const facts: Record<string, number> = {}
let req = 0,
  held = 0,
  bad = 0
for (let i = from; i < from + n; i++) {
  try {
    const o = await simulateRestores(i)
    steps += o.steps
    req += o.requests
    held += o.held
    for (const k of o.facts) facts[k] = (facts[k] ?? 0) + 1
  } catch (e) {
    bad++
    console.log(full ? (e as Error).stack : (e as Error).message.split('\n')[0])
  }
}
console.log(bad, 'bad', steps / n, (performance.now() - s) / n, 'ms', req, held, facts)
