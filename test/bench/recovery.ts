/** The time from a kill -9 of everything, including database and chains, until the next transfer is confirmed. */
import { firstConfirmations } from '../support/log-audit.ts'
import type { Figure } from './report.ts'
import { fundedWallets, type Subject, sendTransfer, untilConfirmed } from './subject.ts'

const ROUNDS = 5
/** Five seconds and a block. */
const WANTED_MS = 6_000

export async function benchRecovery(subject: Subject): Promise<Figure[]> {
  const { service } = subject
  const [walletId = ''] = await fundedWallets(subject, 1)
  await untilConfirmed(subject, walletId, await sendTransfer(subject, walletId))
  const killedAt: Date[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const transactionId = await sendTransfer(subject, walletId)
    killedAt.push(new Date())
    await service.killAll()
    await service.start()
    await untilConfirmed(subject, walletId, transactionId)
  }
  const waits = (await firstConfirmations(service.state().database_url, killedAt)).sort((a, b) => a - b)
  return [
    {
      bench: 'recovery from kill -9 of everything',
      unit: 'ms',
      ours: waits[Math.floor(waits.length / 2)] ?? Number.NaN,
      ceiling: WANTED_MS,
      ceilingIs: 'the most that is wanted: 5 s and a block',
      note: `median of ${waits.length}, the longest ${Math.round(waits.at(-1) ?? Number.NaN)} ms; until the first new confirmation`,
    },
  ]
}
