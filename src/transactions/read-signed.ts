/**
 * Signed bytes reassembled from a node's transaction fields. Invariant: the result has the requested hash and the
 * requested sender, so a node cannot forge it; one that shows it is enough.
 */
import type { Nodes } from '../chain/agreement.ts'
import { readCount, readQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import { sameHex } from '../keys/coverage.ts'
import { withSignature } from '../keys/eip1559.ts'
import { isTransaction } from '../keys/is-transaction.ts'
import { senderOf } from '../keys/sender-of.ts'
import type { UnsignedTransaction } from '../keys/signer.ts'
import { contentOf } from './content.ts'
import type { Fees } from './intent.ts'

export type ShownTransaction = {
  readonly nonce: number
  readonly hash: string
  readonly rawTransaction: string
  readonly fees: Fees
  /** The digest of what it does, as `contentOf` makes it. */
  readonly content: string
}

/** In whatever way a node writes it: as `isTransaction` reads it, so that our own bytes are of no other type. */
const DYNAMIC_FEE_TYPE = 2

type Raw = Readonly<Record<string, unknown>>

type Wanted = { readonly hash: string; readonly from: string; readonly chainId: number }

/**
 * `foreign`: of a type that is never signed here, as its hash proves. `null`: no node shows it. Nodes are asked one after the
 * other, until one shows it.
 *
 * @throws Unavailable, ChainRefused when none answers
 */
export async function readSigned(
  { nodes }: Pick<Nodes, 'nodes'>,
  wanted: Wanted,
): Promise<ShownTransaction | 'foreign' | null> {
  let failure: unknown
  let answered = false
  for (const node of nodes()) {
    try {
      const shown = await readFrom(node, wanted)
      if (shown !== null) return shown
      answered = true
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof ChainRefused)) throw error
      failure ??= error
    }
  }
  if (!answered) throw failure
  return null
}

async function readFrom(node: RpcReader, wanted: Wanted): Promise<ShownTransaction | 'foreign' | null> {
  const raw = (await rpcCall(node, 'eth_getTransactionByHash', [wanted.hash])) as Raw | null
  if (raw === null) return null
  const accessList = Array.isArray(raw.accessList) ? raw.accessList : []
  if (Number(raw.type) !== DYNAMIC_FEE_TYPE || accessList.length > 0 || typeof raw.to !== 'string')
    return isTransaction(raw, wanted) ? 'foreign' : null
  try {
    return signedOf(raw, raw.to, wanted)
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return null // No transaction can have these fields.
    throw error
  }
}

/** @throws RangeError, TypeError for fields that no transaction can have */
function signedOf(raw: Raw, to: string, wanted: Wanted): ShownTransaction | null {
  const transaction: UnsignedTransaction = {
    chainId: wanted.chainId,
    nonce: readCount(raw.nonce, 'a nonce'),
    to,
    value: readQuantity(raw.value, 'a value'),
    data: String(raw.input ?? '0x'),
    gasLimit: readQuantity(raw.gas, 'a gas limit'),
    maxFeePerGas: readQuantity(raw.maxFeePerGas, 'a fee'),
    maxPriorityFeePerGas: readQuantity(raw.maxPriorityFeePerGas, 'a tip'),
  }
  const signature = Buffer.concat([word(raw.r, 'r'), word(raw.s, 's')])
  const { hash, rawTransaction } = withSignature(transaction, {
    signature,
    recoveryId: readCount(raw.yParity ?? raw.v, 'a parity'),
  })
  if (!sameHex(hash, wanted.hash) || !sameHex(senderOf(transaction, rawTransaction), wanted.from)) return null
  const { nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const fees = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
  return { nonce, hash, rawTransaction, fees, content: contentOf(transaction) }
}

function word(value: unknown, what: string): Buffer {
  return Buffer.from(readQuantity(value, what).toString(16).padStart(64, '0'), 'hex')
}
