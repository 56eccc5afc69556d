/** Signs with joint keys, through the same port as whole keys; the parties and their latency are hidden behind it. */
import { eip191Digest } from '../eip191.ts'
import { eip712Digest } from '../eip712.ts'
import { eip1559Digest, withSignature } from '../eip1559.ts'
import { type RecoverableSignature, signatureBytes } from '../recoverable-signature.ts'
import { senderOf } from '../sender-of.ts'
import type { IntentRef, KeyRef, Signer } from '../signer.ts'
import type { SigningSubject } from './protocol.ts'
import type { SignJointly } from './sign-jointly.ts'

/** Signed transactions are submitted while the next ones are signed: this many take about a second on two cores. */
const MAX_TRANSACTIONS = 32

/** A value, because `Signer` has several implementations: whole keys and joint ones. See `SignJointly` for what it throws. */
export function createMpcSigner(signJointly: SignJointly): Signer {
  async function signOne(
    request: { readonly key: KeyRef; readonly intent: IntentRef },
    subject: SigningSubject,
    digest: Uint8Array,
  ): Promise<string> {
    const [signature] = await signJointly([{ keyId: keyIdOf(request.key), intent: request.intent, subject, digest }])
    return signatureBytes(signature as RecoverableSignature)
  }

  return {
    async signTransactions(wanted) {
      const requests = wanted.slice(0, MAX_TRANSACTIONS)
      const signatures = await signJointly(
        requests.map(({ key, intent, transaction }) => ({
          keyId: keyIdOf(key),
          intent,
          subject: { kind: 'transaction', transaction },
          digest: eip1559Digest(transaction),
        })),
      )
      return requests.slice(0, signatures.length).map(({ transaction }, place) => {
        const signed = withSignature(transaction, signatures[place] as RecoverableSignature)
        return { ...signed, sender: senderOf(transaction, signed.rawTransaction) }
      })
    },

    signTypedData: (request) =>
      signOne(request, { kind: 'typed_data', typedData: request.typedData }, eip712Digest(request.typedData)),

    signMessage: (request) =>
      signOne(request, { kind: 'message', message: request.message }, eip191Digest(request.message)),
  }
}

function keyIdOf(key: KeyRef): string {
  if (key.kind !== 'mpc') throw new TypeError(`this signer has no ${key.kind} keys`)
  return key.keyId
}
