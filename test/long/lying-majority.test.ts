/**
 * What a lying majority of the nodes can do, for SECURITY.md: it decides what is told. It cannot have anything paid twice, and
 * not make up what used a nonce, which takes the key of the wallet.
 */
import t from 'tap'
import { withLyingStage } from '../support/lying-stage.ts'

/** Each with what it has told: a pattern of the harm. */
const OUTCOMES = [
  ['several/forged deposits', /told: TransferConfirmed/],
  ['several/our payments failed', /told: Transaction(Mined|Reverted)/],
  ['several/nonces used by others', /told: BalanceChanged/],
] as const
/** What even all nodes together cannot do. */
const NEVER = /on chain \d+ times|nobody asked|NonceConsumedExternally/

for (const [name, told] of OUTCOMES)
  t.test(`two of three nodes tell: ${name}`, async (t) => {
    const stage = await withLyingStage(t, 3, 2)
    await stage.run({ lies: [] })
    const { harms } = await stage.run({ lies: stage.lies.filter((lie) => lie.name === name), forMs: 5_000 })
    t.comment(harms.slice(0, 12).join('\n'))
    t.ok(
      harms.some((harm) => told.test(harm)),
      'the majority is believed about what no key signs',
    )
    t.strictSame(
      harms.filter((harm) => NEVER.test(harm)),
      [],
      'nothing is paid twice, and no nonce is lost',
    )
  })

t.end()
