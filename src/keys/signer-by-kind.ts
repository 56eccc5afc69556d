/** One signer in front of several: each request goes to the signer of its key's kind; results are in request order. */
import { Unavailable } from '../core/errors.ts'
import type { KeyRef, ProvenTransaction, Signer, SigningRequest } from './signer.ts'

export type SignersByKind = { readonly [Kind in KeyRef['kind']]?: Signer }

/**
 * Routes by the kind of key. A kind without a signer is refused with `signer_unavailable` before anything is signed.
 */
export function signerByKind(signers: SignersByKind): Signer {
  function signerOf(kind: KeyRef['kind']): Signer {
    const signer = signers[kind]
    if (signer === undefined) {
      throw new Unavailable(
        'signer_unavailable',
        `This signer has no ${kind} keys: configure them, or use another wallet type.`,
      )
    }
    return signer
  }

  return {
    async signTransactions(requests) {
      const kinds = [...new Set(requests.map((request) => request.key.kind))].map((kind) => ({
        kind,
        signer: signerOf(kind),
      }))
      const signed = await Promise.all(
        kinds.map(async ({ kind, signer }) => {
          const ofKind = requests.filter((request) => request.key.kind === kind)
          return pair(ofKind, await signer.signTransactions(ofKind))
        }),
      )
      const answers = new Map(signed.flat())
      const unsigned = requests.findIndex((request) => !answers.has(request))
      const whole = unsigned === -1 ? requests : requests.slice(0, unsigned)
      return whole.flatMap((request) => answers.get(request) ?? [])
    },

    signTypedData: async (request) => signerOf(request.key.kind).signTypedData(request),
    signMessage: async (request) => signerOf(request.key.kind).signMessage(request),
  }
}

function pair(
  requests: readonly SigningRequest[],
  signed: readonly ProvenTransaction[],
): [SigningRequest, ProvenTransaction][] {
  return requests.flatMap((request, index): [SigningRequest, ProvenTransaction][] => {
    const answer = signed[index]
    return answer === undefined ? [] : [[request, answer]]
  })
}
