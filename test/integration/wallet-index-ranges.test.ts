/** The ranges of key indexes on a real PostgreSQL: no index that a restored log may have forgotten is assigned again. */

import t from 'tap'
import { unopened } from '../../src/event-log/aggregate.ts'
import { keyIndexesAggregate } from '../../src/wallets/key-indexes.ts'
import { loadKeyIndexes } from '../../src/wallets/make-hd-wallet.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ACME, anotherLog, beat, hdMaker, hdRequest, testSigner, withWallets } from '../support/wallet-parts.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const

type HdMaker = ReturnType<typeof hdMaker>

t.test(
  'after evidence of a restore the next index of a tenant is of a new range, however many signers ask',
  async (t) => {
    const parts = await withWallets(t)
    await beat(parts)
    let restores = 0
    const signers = [0.1, 0.6, 0.9].map((draw) =>
      hdMaker({
        ...parts,
        log: anotherLog(parts),
        signer: testSigner(),
        restores: async () => restores,
        draw: () => draw,
      }),
    )
    const [one, two, three] = signers as [HdMaker, HdMaker, HdMaker]
    const made = async (tenantId: string, ...makers: HdMaker[]) => {
      const { id } = await requestWallet(parts, hdRequest(), { metadata: { ...ACME, tenantId } })
      await Promise.all(makers.map((make) => make(id)))
      const { key } = await parts.findWallet({ ...OWNER, tenantId }, id)
      return key?.kind === 'hd' ? key.index : null
    }
    t.strictSame([await made('acme', one), await made('acme', two)], [0, 1])
    restores = 1
    const after = (await made('acme', one, two, three)) ?? 0
    t.ok(after >= 2 ** 20 && after % 2 ** 20 === 0, `index ${after}`)
    t.strictSame(
      [await made('acme', one), await made('acme', two), await made('acme', three)],
      [1, 2, 3].map((n) => after + n),
    )
    t.not(await made('globex', one), 0, 'its first wallet may have been forgotten')
    restores = 3
    const later = (await made('acme', two)) ?? 0
    t.ok(later % 2 ** 20 === 0 && later !== after && later !== 0, `index ${later}`)
    t.strictSame(await loadKeyIndexes(parts, 'nobody'), unopened(keyIndexesAggregate, 'nobody'))
    const whole = await parts.log.load(keyIndexesAggregate, 'acme')
    const { version, hash } = whole
    t.match(await loadKeyIndexes(parts, 'acme'), { version, hash, state: { next: later + 1, restores: 3 } })
    matchExactly(t, whole.state, { next: later + 1, restores: 3, begun: [0, after, later] })
  },
)

t.end()
