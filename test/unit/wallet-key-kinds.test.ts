/** A key of a kind that no capability judges: the wallet is unfit, whatever its own stream says. */
import t from 'tap'
import type { EventLog } from '../../src/event-log/log.ts'
import type { WalletKey } from '../../src/wallets/events.ts'
import { createRecordedWalletFacts } from '../../src/wallets/recorded-wallet-facts.ts'
import { WalletUnfit } from '../../src/wallets/wallet-facts.ts'

const KEYS: Readonly<Record<string, WalletKey>> = {
  shared: { kind: 'mpc', keyId: 'mpk_1' },
  whole: { kind: 'hd', tenantId: 'acme', index: 0 },
}
const noProblems = async () => new Map<string, string>()

/** A log with the wallets of `KEYS`. */
const log = {
  loadChecked: async (_aggregate, ids) =>
    ids.map((id) => ({
      ...{ id, version: 2, hash: '', tenantId: 'acme', broken: null, opened: null },
      state: {
        status: 'active',
        type: 'hd',
        network: 'ethereum',
        environment: 'mainnet',
        address: '0x1',
        key: KEYS[id],
        openedFrom: null,
      },
    })) as never,
} satisfies Pick<EventLog, 'loadChecked'>

t.test('a wallet with a key that nobody judges is unfit; the others are not', async (t) => {
  const factsOf = createRecordedWalletFacts(log, { hd: noProblems })
  await t.rejects(factsOf('shared'), new WalletUnfit('Nothing tells whether wallet shared may use its mpc key.'))
  t.match(await factsOf('whole'), { walletId: 'whole', key: KEYS.whole })
  const nothingJudged = createRecordedWalletFacts(log, {})
  for (const id of Object.keys(KEYS)) await t.rejects(nothingJudged(id), { code: 'wallet_unfit' })
})

t.test('a kind that is judged is fine unless it has a problem', async (t) => {
  t.match(await createRecordedWalletFacts(log, { hd: noProblems, mpc: noProblems })('shared'), { key: KEYS.shared })
  const factsOf = createRecordedWalletFacts(log, { mpc: async () => new Map([['shared', 'It has another owner.']]) })
  await t.rejects(factsOf('shared'), new WalletUnfit('It has another owner.'))
})
