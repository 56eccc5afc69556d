/** All false answers of a node. Without `after`, the node did not execute anything. */
import type { Random } from './load-random.ts'
import type { Answer, Fate, RpcCall } from './node-fates.ts'

const SEND = 'eth_sendRawTransaction'
export const PASS: Fate = { type: 'pass' }

const lie = (answer: Answer): Fate => ({ type: 'answer', method: SEND, answer })
export const says = (message: string): Fate => lie({ error: { code: -32000, message } })

/** Fates of an exchange that submits transactions. */
export const SEND_LIES: Readonly<Record<string, Fate>> = {
  'takes it and is silent': { type: 'silence after' },
  'takes it and breaks off in the answer': { type: 'cut' },
  'is silent': { type: 'silence before' },
  'answers 502': { type: 'status', status: 502 },
  'answers 429': { type: 'status', status: 429 },
  'closes the connection': { type: 'refuse' },
  'says yes and forgets it': lie({ result: `0x${'ab'.repeat(32)}` }),
  'says already known': says('already known'),
  'says nonce too low': says('nonce too low: next nonce 9, tx nonce 0'),
  'says nonce too high': says('nonce too high'),
  'says replacement underpriced': says('replacement transaction underpriced'),
  'says insufficient funds': says('insufficient funds for gas * price + value'),
  'says underpriced': says('transaction underpriced'),
  'says that its pool is full': says('txpool is full'),
  'says what nobody understands': says('the moon is full'),
}

/** A replica that has fallen behind. */
export const STALE: Fate = { type: 'behind', blocks: 50 }
export const WRONG_CHAIN: Fate = { type: 'answer', method: 'eth_chainId', answer: { result: '0x1' } }

/** Fates of any other exchange: silence takes a client long, so only a few would fill a run. */
const READ_LIES: readonly Fate[] = [
  STALE,
  STALE,
  STALE,
  STALE,
  STALE,
  STALE,
  { type: 'silence before' },
  { type: 'cut' },
  { type: 'refuse' },
  { type: 'status', status: 502 },
  { type: 'status', status: 429 },
]
/** A chain id is requested rarely, and a node with a wrong one is not used for a while. */
const WRONG_CHAIN_SHARE = 0.1

/** A node that gives false answers in a fraction of its exchanges, of a random kind each time. */
export function createLiar(random: Random, share: number): (calls: readonly RpcCall[]) => Fate {
  const sendLies = Object.values(SEND_LIES)
  return (calls) => {
    if (!random.chance(share)) return PASS
    if (calls.some(({ method }) => method === SEND)) return random.pick(sendLies)
    if (calls.some(({ method }) => method === 'eth_chainId') && random.chance(WRONG_CHAIN_SHARE)) return WRONG_CHAIN
    return random.pick(READ_LIES)
  }
}
