/**
 * A secret setting may be given as a file: `KEYSTORE_KEY_FILE=/run/secrets/keystore_key`, as Docker and Kubernetes
 * mount secrets. `docker inspect` does not show a file, and child processes do not inherit it.
 */
import { readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'

const SUFFIX = '_FILE'

export type SettingText = { readonly text: string | undefined } | { readonly problem: string }

/** The names of the variables that may hold a setting: its own name and, for a secret, the name of its file. */
export function variablesOf(name: string, schema: TSchema): readonly string[] {
  return schema['x-secret'] === true ? [name, `${name}${SUFFIX}`] : [name]
}

/**
 * The text of a setting, from its variable or from its file; undefined when neither is set. An empty variable is unset.
 *
 * @returns a problem in one line when both are set, or when the file is empty or cannot be read
 */
export function settingText(
  name: string,
  schema: TSchema,
  env: Readonly<Record<string, string | undefined>>,
): SettingText {
  const [, fileName] = variablesOf(name, schema)
  const path = fileName === undefined ? '' : (env[fileName]?.trim() ?? '')
  if (fileName === undefined || path === '') return { text: env[name] }
  if ((env[name]?.trim() ?? '') !== '') return { problem: `${name} and ${fileName} must not both be set` }
  try {
    const text = readFileSync(path, 'utf8')
    return text.trim() === '' ? { problem: `${fileName} must name a non-empty file, not ${path}` } : { text }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    return { problem: `${fileName} must name a readable file, not ${path} (${code})` }
  }
}
