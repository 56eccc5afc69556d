/** The facts of wallets according to the log, for everything that signs: each with a key that the log assigned to it. */
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { EventLog } from '../event-log/log.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletKey } from './events.ts'
import { ownersOf } from './key-owners.ts'
import {
  factsOf,
  type KeyProblemsOf,
  rememberFacts,
  type WalletFacts,
  type WalletFactsOf,
  WalletUnfit,
} from './wallet-facts.ts'

/**
 * From the log, verifying each stream's hash chain: no row of the read model can make a signer use another key.
 *
 * A wallet that uses the key of another one is judged by that one, which must name it: `ownersOf`.
 *
 * @param keyProblems what assigns keys to wallets, by the kind of the key: a key of another kind is assigned to nobody
 * @throws BrokenChain (from the function) for a wallet whose events were edited; WalletUnfit for one whose key was not
 *   assigned to it
 */
export function createRecordedWalletFacts(
  log: Pick<EventLog, 'loadChecked'>,
  keyProblems: Readonly<Partial<Record<WalletKey['kind'], KeyProblemsOf>>>,
): WalletFactsOf {
  return rememberFacts(async (ids) => {
    const found = await loadFacts(log, ids)
    const keyed = [...found.values()].flatMap((facts) => (facts instanceof Error || facts.key === null ? [] : [facts]))
    // Read after the wallets: what assigns a key is appended together with its wallet, and who names another one before.
    const { owners, problems: ofLinks } = await ownersOf(log, keyed)
    const asked = [...new Map([...owners.values()].map((owner) => [owner.walletId, owner])).values()]
    const answers = await Promise.all(Object.values(keyProblems).map((problemsOf) => problemsOf(asked)))
    const ofKeys = new Map(answers.flatMap((each) => [...each]))
    for (const { walletId, key } of keyed) {
      const isJudged = key !== null && Object.hasOwn(keyProblems, key.kind)
      const problem =
        ofLinks.get(walletId) ??
        (isJudged ? undefined : `Nothing tells whether wallet ${walletId} may use its ${key?.kind} key.`) ??
        ofKeys.get(owners.get(walletId)?.walletId ?? walletId)
      if (problem !== undefined) found.set(walletId, new WalletUnfit(problem))
    }
    return found
  })
}

async function loadFacts(
  log: Pick<EventLog, 'loadChecked'>,
  ids: readonly string[],
): Promise<Map<string, WalletFacts | Error>> {
  const found = new Map<string, WalletFacts | Error>()
  for (const { id, state, broken, tenantId } of await log.loadChecked(walletAggregate, ids)) {
    if (broken !== null) found.set(id, new BrokenChain(broken))
    if (broken !== null || state.status === 'unknown' || tenantId === null) continue
    found.set(id, factsOf(id, tenantId, state))
  }
  return found
}
