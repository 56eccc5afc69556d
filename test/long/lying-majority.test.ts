/**
 * What a lying majority of the nodes can do, for SECURITY.md: it decides what is told. It cannot have anything paid twice, and
 * not make up what used a nonce, which takes the key of the wallet.
 */
import t from 'tap'
import { withLyingStage } from '../support/lying-stage.ts'

/** Each with what it has told, a pattern of the harm; `null`: no more than a chain of its own, as the signatures are of another key. */
const OUTCOMES = [
  ['several/forged deposits', /told: TransferConfirmed/],
  ['several/our payments failed', /SettlementRevoked|TransactionReverted/],
  ['several/nonces used by others', null],
] as const
/** What even all nodes together cannot do. */
const NEVER = /on chain \d+ times|nobody asked|NonceConsumedExternally/

const LINE = 120

for (const [name, told] of OUTCOMES)
  t.test(`two of three nodes tell: ${name}`, async (t) => {
    const stage = await withLyingStage(t, 3, 2)
    await stage.run({ lies: [] })
    const { harms } = await stage.run({ lies: stage.lies.filter((lie) => lie.name === name), forMs: 5_000 })
    const kinds = harms.map((harm) => harm.replace(/ of .*/s, '').slice(0, LINE))
    for (const kind of new Set(kinds)) t.comment(`${kinds.filter((one) => one === kind).length} × ${kind}`)
    if (told !== null)
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
