/** The EIP-712 domain of the contracts of this service: what has it is signed by the routes that make it, and by no other. */

/** Of every version of the contracts: none accepts a signature of another domain. */
export const OWN_DOMAIN = { name: 'Bursar', version: '1' } as const

/** Whether a domain has the names of that of our contracts, whichever contract and chain it names. */
export function isOwnDomain({ name, version }: { readonly name?: unknown; readonly version?: unknown }): boolean {
  return name === OWN_DOMAIN.name && version === OWN_DOMAIN.version
}
