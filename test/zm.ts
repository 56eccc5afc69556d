import { RESTORE_MUTANTS } from './simulation/mutants.ts'
import { simulateRestores } from './simulation/restores.ts'

for (const m of RESTORE_MUTANTS) {
  const s = performance.now()
  let found = 'NOT FOUND'
  for (let i = 1; i < 401; i++) {
    try {
      await simulateRestores(i, m)
    } catch (e) {
      found = (e as Error).message.split('\n')[0] ?? ''
      break
    }
  }
  console.log(m.name, '|', found.slice(0, 200), Math.round(performance.now() - s))
}
