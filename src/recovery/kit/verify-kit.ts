/**
 * Proves that a kit restores its wallets without moving funds: every key signs a message that cannot be a transaction
 * (EIP-191), and the signature is recovered to the wallet's address. For a joint key every share takes part in a
 * signature.
 */
import { randomBytes } from 'node:crypto'
import { eip191Digest } from '../../keys/eip191.ts'
import { EngineFailure } from '../../keys/mpc/engine-wire.ts'
import { recoverSigner } from '../../keys/recover-signer.ts'
import { type RecoverableSignature, signatureBytes } from '../../keys/recoverable-signature.ts'
import type { KitWallet } from './format.ts'
import { type KitKey, keyOfWallet } from './kit-keys.ts'
import { KitRefused } from './kit-refused.ts'
import type { OpenedKit } from './open-kits.ts'

export type KitVerdict = {
  readonly wallet: KitWallet
  readonly ok: boolean
  readonly heldBy: readonly string[]
  /** Why it failed, or a remark when it did not; `null` for none. */
  readonly note: string | null
}

const NONCE_BYTES = 16

/**
 * @param current the current wallets of the service; `null` to judge the kit by its own manifest only
 * @returns a verdict for each wallet of the manifest, and for each other wallet of the service
 */
export function verifyKit(kit: OpenedKit, current: readonly KitWallet[] | null): readonly KitVerdict[] {
  const listed = new Map(kit.wallets.map((wallet) => [wallet.wallet_id, wallet]))
  const known = new Map((current ?? []).map((wallet) => [wallet.wallet_id, wallet]))
  return [...new Map([...listed, ...known]).values()].map((wallet) => {
    try {
      const key = keyOfWallet(kit, wallet)
      for (const sign of key.signers) prove(wallet.address, sign)
      const notes = [
        listed.has(wallet.wallet_id) ? null : 'created after the kit, but the kit has its key',
        key.note,
        ageOf(key, known.get(wallet.wallet_id)),
      ].filter((note) => note !== null)
      return { wallet, ok: true, heldBy: key.heldBy, note: notes.join('; ') || null }
    } catch (error) {
      const why = reasonOf(error)
      if (why === null) throw error
      return { wallet, ok: false, heldBy: [], note: why }
    }
  })
}

function prove(address: string, sign: (digest: Uint8Array) => RecoverableSignature): void {
  const message = `Bursar recovery check of ${address}: ${randomBytes(NONCE_BYTES).toString('hex')}`
  const digest = eip191Digest(Buffer.from(message))
  const signer = recoverSigner(`0x${Buffer.from(digest).toString('hex')}`, signatureBytes(sign(digest)))
  if (signer !== address) throw new KitRefused(`its key signs for ${signer ?? 'no address'}`)
}

/** Shares replaced by a refresh still work together: anybody with enough of them can sign, including their owner. */
function ageOf({ epoch }: KitKey, now: KitWallet | undefined): string | null {
  if (epoch === null || now?.type !== 'mpc' || now.epoch === epoch) return null
  return `its shares are of epoch ${epoch}, but the service is at epoch ${now.epoch}: newer parts do not fit, make a new kit`
}

function reasonOf(error: unknown): string | null {
  if (error instanceof KitRefused) return error.message
  if (error instanceof EngineFailure) return `its shares do not fit together: ${error.message}`
  return null
}
