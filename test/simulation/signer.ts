/** A signer with readable bytes: the simulation tests what is signed, not how. */
import { createHash } from 'node:crypto'
import type { Signer, SigningRequest } from '../../src/keys/signer.ts'
import type { SigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import type { Wire } from './chain.ts'
import type { PortsOf } from './ports.ts'
import { CHAIN_ID, type World } from './terms.ts'

export function createSimulatedSigner(world: World, { actor, scheduler }: PortsOf): Signer {
  const refuse = () => Promise.reject(new Error('the simulation signs transactions alone'))
  return {
    signTransactions: (requests) => {
      const label = `sign ${requests.map(({ intent, transaction }) => `${intent.id}@${transaction.nonce}`).join(' ')}`
      return scheduler.call({ actor, label, weight: 1, fallible: true }, () =>
        requests.map((request) => {
          const wire = toWire(request)
          if (world.mutant.sendsUnlogged) world.onSent(wire)
          return { hash: wire.hash, rawTransaction: JSON.stringify(wire), sender: wire.from }
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
  network: 'ethereum',
  environment: 'mainnet',
  chainId: CHAIN_ID,
  address: walletId,
  key: { kind: 'hd', tenantId: walletId, index: 0 },
})

function toWire({ key, intent, transaction }: SigningRequest): Wire {
  const { to, nonce, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (key.kind !== 'hd') throw new Error('the simulation has one kind of key')
  const fields = {
    // The wallet's id is its address here.
    from: key.tenantId,
    to,
    nonce,
    value: value.toString(),
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: maxPriorityFeePerGas.toString(),
    signedFor: intent.id,
  }
  const hash = createHash('sha256')
    .update(JSON.stringify([fields, gasLimit.toString()]))
    .digest('hex')
  return { hash: `0x${hash}`, ...fields }
}
