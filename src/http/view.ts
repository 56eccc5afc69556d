/** The types of response schemas. A schema is the only description of what a route returns. Only types. */
import type { Static, TSchema } from '@sinclair/typebox'

type Unchanging<Value> = Value extends readonly (infer Item)[]
  ? readonly Unchanging<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Unchanging<Value[Key]> }
    : Value

/** A resource in the form of the API: `View<typeof walletSchema>`. */
export type View<Schema extends TSchema> = Unchanging<Static<Schema>>
