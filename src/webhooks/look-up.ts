/**
 * Looks up the names of receivers. The system's resolver has one of four threads for each name until its DNS server
 * answers, so that a few names whose servers never answer would hold up the deliveries to all others. DNS itself is
 * asked without a thread.
 */
import { type LookupAddress, lookup, promises } from 'node:dns'

/** As `dns.lookup` with `all`: never an empty list without an error. */
export type LookUpAll = (
  hostname: string,
  callback: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void

/** For the first of two tries, ms. With the second one a name that is not answered fails before the delivery does. */
const TRY_MS = 2_500
/** Every machine has this name without DNS (RFC 6761). */
const LOCAL = /(^|\.)localhost\.?$/

/**
 * @param servers of DNS; by default those of the system
 * @param hasOwnNetworks whether names may be the operator's own, which a file of the system has and not DNS
 */
export function createLookUp(settings: {
  readonly hasOwnNetworks: boolean
  readonly servers?: readonly string[]
}): LookUpAll {
  const { hasOwnNetworks, servers } = settings
  const resolver = new promises.Resolver({ timeout: TRY_MS, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return (hostname, callback) => {
    if (LOCAL.test(hostname)) return askSystem(hostname, callback)
    void askDns(resolver, hostname).then(
      (addresses) => callback(null, addresses),
      (error: Error) => (hasOwnNetworks ? askSystem(hostname, callback) : callback(error, [])),
    )
  }
}

/** IPv4 first: not every network has a route for IPv6. @throws the error of DNS when neither has an address */
async function askDns(resolver: promises.Resolver, hostname: string): Promise<LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ]
  if (found.length === 0 && four.status === 'rejected') throw four.reason
  return found
}

function askSystem(hostname: string, callback: Parameters<LookUpAll>[1]): void {
  lookup(hostname, { all: true, verbatim: true }, callback)
}
