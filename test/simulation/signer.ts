/** A signer with the production's encoding and real keys, so that signed bytes can be read from a node again. */
import { signEip1559 } from '../../src/keys/eip1559.ts'
import { HdKey } from '../../src/keys/hd-key.ts'
import type { Signer, UnsignedTransaction } from '../../src/keys/signer.ts'
import type { TagKeys } from '../../src/transactions/tags.ts'
import type { SigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import type { Wire } from './chain.ts'
import type { PortsOf } from './ports.ts'
import { CHAIN_ID, type World } from './terms.ts'

export const TAG_KEYS: TagKeys = [Buffer.alloc(32, 7)]

/** Of these the first and the last are of one partition. */
const KEYS = new Map(
  [4, 1, 10].map((byte) => new HdKey(Buffer.alloc(32, byte))).map((key) => [key.address.toLowerCase(), key]),
)

/** The addresses of the wallets, in lower case. */
export const LANES: readonly string[] = [...KEYS.keys()]

/** Who has each lane, as far as turns go. */
export const OWNERS: ReadonlyMap<string, string> = new Map(
  LANES.map((address, index) => [address, index === 1 ? 'zeta' : 'acme']),
)

export function createSimulatedSigner(world: World, { actor, scheduler }: PortsOf): Signer {
  const refuse = () => Promise.reject(new Error('the simulation signs transactions alone'))
  return {
    signTransactions: (requests) => {
      const label = `sign ${requests.map(({ intent, transaction }) => `${intent.id}@${transaction.nonce}`).join(' ')}`
      return scheduler.call({ actor, label, weight: 1, fallible: true }, () =>
        requests.map(({ key, intent, transaction }) => {
          if (key.kind !== 'hd') throw new Error('the simulation has one kind of key')
          // The wallet's id is its address here.
          const wire = world.chain.sign(signWire(key.tenantId, transaction, intent.id))
          if (world.mutant.sendsUnlogged) world.onSent(wire)
          return { hash: wire.hash, rawTransaction: wire.signed?.raw ?? '', sender: wire.from }
        }),
      )
    },
    signTypedData: refuse,
    signMessage: refuse,
  }
}

/** The wallet's id is its address here. */
export const simulatedWallet: SigningWalletOf = async (walletId) => ({
  walletId,
  tenantId: 'acme',
  type: 'hd',
  openedFrom: null,
  network: 'ethereum',
  environment: 'mainnet',
  chainId: CHAIN_ID,
  address: walletId,
  key: { kind: 'hd', tenantId: walletId, index: 0 },
})

/** @param signedFor the transaction of the service; `null` for another program that has the key */
export function signWire(from: string, transaction: UnsignedTransaction, signedFor: string | null): Wire {
  const wallet = KEYS.get(from)
  if (wallet === undefined) throw new Error(`the simulation has no key of ${from}`)
  let proof = { r: '', s: '', yParity: 0 }
  const { hash, rawTransaction: raw } = signEip1559(transaction, (digest) => {
    const made = wallet.sign(digest)
    const hex = Buffer.from(made.signature).toString('hex')
    proof = { r: `0x${hex.slice(0, 64)}`, s: `0x${hex.slice(64)}`, yParity: made.recoveryId }
    return made
  })
  const { to, nonce, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  return {
    hash,
    signed: { raw, ...proof },
    from,
    to,
    nonce,
    value: value.toString(),
    gasLimit: gasLimit.toString(),
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: maxPriorityFeePerGas.toString(),
    signedFor,
  }
}
