/**
 * Who may tag wallets: rules of policies name tags, so a key that may change wallets alone could take a wallet out of the reach
 * of a rule.
 */
import { PermissionDenied } from '../core/errors.ts'
import type { Scope } from '../core/registry.ts'

const TAG_SCOPE: Scope = 'policies:write'

/** The tags of a request, if it has any. @throws PermissionDenied `insufficient_scope` */
export function askedTags(
  scopes: ReadonlySet<string>,
  tags: readonly string[] | undefined,
): { readonly tags?: readonly string[] } {
  if (tags === undefined) return {}
  if (scopes.has(TAG_SCOPE)) return { tags }
  const message = `tags require the scope ${TAG_SCOPE}, since rules of policies name them: leave the field out, or use an API key with that scope.`
  throw new PermissionDenied('insufficient_scope', message, 'tags')
}
