import { simulate } from './simulation/world.ts'

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 20)
let steps = 0
const s = performance.now()
const settled: Record<string, number> = {}
for (let i = from; i < from + n; i++) {
  try {
    const o = await simulate(i)
    steps += o.steps
    for (const [k, v] of Object.entries(o.settled)) settled[k] = (settled[k] ?? 0) + v
  } catch (e) {
    console.log((e as Error).message.split('\n')[0])
  }
}
console.log(steps / n, (performance.now() - s) / n, 'ms', settled)
