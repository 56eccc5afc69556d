/**
 * Sends signed bytes to those that may see them. With private relays, only they get the bytes of a kind that asks for it (a swap), in each of its
 * versions: anybody who knows them can trade first. Everything else goes to the nodes. A cancellation goes to both: it
 * shows only that the nonce is used, the relays must stop offering the swap, and a relay that is down must not prevent
 * it.
 *
 * Invariant: the bytes of a swap whose request recorded relays go to these relays and to nothing else.
 */
import { readQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import type { RelayAnswer, Relays } from '../chain/relays.ts'
import type { RpcClient } from '../chain/rpc-client.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { buildCall } from './build-call.ts'
import { type Judged, judgeRelays, type RelayEvidence } from './judge-relays.ts'
import type { RulesOfKinds } from './kind-rules.ts'
import type { Attempt, KnownTransaction, TransactionState } from './state.ts'

type Nodes = Pick<RpcClient, 'sendRawTransactions' | 'transactionCount'>

/** What takes the bytes of a chain. */
export type Receivers = {
  readonly client: Nodes
  /** What a quorum of the nodes says alike. */
  readonly agreed: RpcReader
  /** Null where none is configured. */
  readonly relays: Pick<Relays, 'hosts' | 'send'> | null
}
type Routing = { readonly relays: Pick<Relays, 'hosts'> | null; readonly kinds: RulesOfKinds }

type Bytes = { readonly loaded: Pick<Loaded<TransactionState>, 'state'>; readonly attempt: Attempt }

/** `left`: the request recorded relays, and this process has none of them; or the program has no rules of the kind. */
export type Answered = Omit<Judged, 'outcome'> & {
  readonly outcome: Judged['outcome'] | 'left'
  /** What each relay said, where they decide. */
  readonly relays: readonly RelayAnswer[]
}

/**
 * @param items in ascending order of their nonces
 * @returns the answer to each; that of the nodes for a cancellation. Never throws.
 */
export async function sendBytes(
  { client: nodes, agreed, relays }: Receivers,
  items: readonly Bytes[],
  kinds: RulesOfKinds,
): Promise<readonly (Answered | undefined)[]> {
  const routed = items.map((item) => ({ item, raw: item.attempt.rawTransaction, ...routeOf(item, { relays, kinds }) }))
  const shown = routed.filter(({ toNodes }) => toNodes)
  const relayed = routed.filter(({ hosts }) => hosts.length > 0)
  const [answers, relayAnswers] = await Promise.all([
    nodes.sendRawTransactions(shown.map(({ raw }) => raw)),
    relays === null ? [] : relays.send(relayed),
  ])
  return Promise.all(
    routed.map(async (one): Promise<Answered | undefined> => {
      const heard = relayAnswers[relayed.indexOf(one)] ?? []
      if (one.toNodes) {
        const answer = answers[shown.indexOf(one)]
        return answer === undefined ? undefined : { ...answer, relays: [] }
      }
      if (one.hosts.length === 0) return { outcome: 'left', message: 'no receiver for it', relays: [] }
      return { ...(await judgeRelays(heard, evidenceOf(nodes, agreed, one.item))), relays: heard }
    }),
  )
}

type Route = { readonly toNodes: boolean; readonly hosts: readonly string[] }

function routeOf(item: Bytes, { relays, kinds }: Routing): Route {
  const { state } = item.loaded
  const rules = state.state === 'unknown' ? undefined : kinds.get(state.type)
  // Nobody says who may see them.
  if (state.state === 'unknown' || rules === undefined) return { toNodes: false, hosts: [] }
  const { relays: relayed } = rules
  if (relayed === undefined) return { toNodes: true, hosts: [] }
  const configured = relays?.hosts ?? []
  const recorded = relayed.of(state.intent)
  const hosts = recorded === undefined ? configured : configured.filter((host) => recorded.includes(host))
  const isHidden = recorded !== undefined || configured.length > 0
  return { toNodes: !isHidden || item.attempt.purpose === 'cancel', hosts }
}

/** Nodes learn nothing of the bytes from these questions. */
function evidenceOf(nodes: Nodes, agreed: RpcReader, { loaded: { state }, attempt }: Bytes): RelayEvidence {
  const known = state as KnownTransaction
  const { from } = known.intent
  const cost = attempt.fees.gasLimit * attempt.fees.maxFeePerGas + buildCall(known.intent).value
  return {
    async isNonceUsed() {
      const next = await nodes.transactionCount(from).catch(() => null)
      return next === null ? null : next > attempt.nonce
    },
    async canPay() {
      const answer = rpcCall(agreed, 'eth_getBalance', [from, 'latest'])
      const balance = await answer.then((value) => readQuantity(value, 'a balance')).catch(() => null)
      return balance === null ? null : balance >= cost
    },
    hasOlder: known.attempts.some(({ hash, submittedAt }) => hash !== attempt.hash && submittedAt !== null),
  }
}

/**
 * Whether bytes of a swap cannot succeed any more: its deadline, which its call data contains, is over. A relay never
 * puts a transaction that fails into a block, so its nonce would stop the lane forever.
 */
export function isFutile(routing: Routing, item: Bytes, now: string): boolean {
  const { state } = item.loaded
  // What nobody has rules for is left, and not cancelled.
  if (state.state === 'unknown' || !routing.kinds.get(state.type)?.relays || routeOf(item, routing).toNodes)
    return false
  const { validUntil } = state.intent
  return validUntil !== null && Date.parse(validUntil) < Date.parse(now)
}
