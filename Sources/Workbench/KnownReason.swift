/// A common error message of the server, with its cause and remedy.
public struct KnownReason: Sendable, Hashable {
    public let cause: String
    public let remedy: String

    /// - Parameter reason: the server's message in an error.
    /// - Returns: `nil` for unknown messages.
    public init?(of reason: String) {
        let text = reason.lowercased()
        guard let match = Self.table.first(where: { entry in entry.words.allSatisfy { text.contains($0) } }) else { return nil }
        cause = match.cause
        remedy = match.remedy
    }

    /// The words that identify a message, in lower case. The first matching entry applies.
    private static let table: [(words: [String], cause: String, remedy: String)] = [
        (
            ["recordname", "not marked queryable"], "A query without a filter uses recordName, and every type needs an index for it, added by hand.",
            "Mark recordName QUERYABLE on the type, in development, then deploy. In a schema file the same index is called ___recordID."
        ),
        (
            ["___recordid", "not marked queryable"], "A query without a filter uses recordName, and every type needs an index for it, added by hand.",
            "Mark recordName QUERYABLE on the type, in development, then deploy. In a schema file the same index is called ___recordID."
        ),
        (["not marked queryable"], "The filter uses a field without an index.", "Mark the field QUERYABLE, in development, then deploy."),
        (["not marked sortable"], "The query sorts by a field without a SORTABLE index. QUERYABLE does not sort.", "Mark the field SORTABLE, in development, then deploy."),
        (["not marked indexable"], "The type has no index at all, so it can't be queried.", "Mark recordName QUERYABLE, or the filtered field."),
        (
            ["in production schema"], "Production has only deployed types and fields. Saves never add any.",
            "In development, save one record with every field set, check the type, then deploy the schema. One missing field stops a whole sync."
        ),
        (
            ["client knowledge differs"], "The change token has expired: later deletions were purged, the zone was deleted and created again, or the store was restored.",
            "Pull the zone without a token, store every record, then delete local records that were not returned."
        ),
        (
            ["unknown sync continuation type"], "The token is damaged, or belongs to another zone, database or user. A database token is not a zone token.",
            "Keep one token for each zone and one for the database, and send each unchanged. The page Tokens explains a token."
        ),
        (
            ["syncToken operations supported only in".lowercased()], "The default zone has no changes feed.", "Save synced records in a custom zone."
        ),
        (["appdefaultzone does not support"], "The default zone has no changes feed.", "Save synced records in a custom zone."),
        (
            ["record to insert already exists"], "The operation is ‘create’, but a record with this name exists. An earlier attempt may have saved it without a response.",
            "Fetch the record and update it, or save with a policy that does not compare tags."
        ),
        (
            ["oplock"], "Someone else saved the record after this client read it. The sent tag is out of date.",
            "Fetch it, apply your changes to the server's version, and save that. If the tags differ a lot, the client does not store the tags of its own saves."
        ),
        (["recordchangetag specified, but record not found"], "The record was deleted after this client read it.", "Delete it locally, or save it as a new record."),
        (["did not find record type"], "The type does not exist in this environment.", "Save a record of it in development, or deploy the schema to production."),
        (["can't query system types"], "Users and shares can't be queried.", "Fetch the user's record by its name."),
        (["invalid attempt to set value type"], "The field has another type. The schema, or the first save, set it.", "Send the value with the field's type. A field's type never changes; use a new field for another type."),
        (["cannot be queried using filter value type"], "The filter's value does not have the field's type.", "For a reference, send {\"recordName\": …} with the type REFERENCE."),
        (["unexpected input"], "The body does not have the expected structure.", "An IN filter needs a list with its type, such as STRING_LIST. Compare the body with the documentation of the service."),
        (["no auth method found"], "The request has no credentials, or credentials of another container or environment.", "Send ckAPIToken, or the three headers of a signed request."),
        (["request needs authorization"], "The request needs a user, and has none.", "Sign in at redirectURL and send ckWebAuthToken."),
        (["private db access disabled"], "The account has no CloudKit data for this container, often because it is managed or was never used.", "Sign in on a device with this account once, or use another account."),
        (["invalid bundle id for container"], "The app's bundle identifier may not use the container.", "Add the container to the app identifier in the developer account, and build with that profile."),
        (["operation not permitted"], "The security roles of the type don't grant this to the caller.", "Grant CREATE, READ or WRITE to a role of the caller, and deploy. _world is everyone, _icloud is every signed-in user."),
        (["would violate validating reference"], "Records with a VALIDATE reference still refer to it.", "Delete those records first, or change the action of the reference."),
        (["quota exceeded"], "The storage of the database's owner is full.", "For a private database, that is the user's iCloud storage. Keep unsaved changes."),
        (["record too large"], "A record may have 1 MB without its assets.", "Put large values into an asset."),
        (["save encrypted data in non encrypted"], "An encrypted value was sent for a field that is not encrypted. A field's type never changes.", "Use a new field with an ENCRYPTED type."),
        (["zone was purged"], "The user deleted the app's data of this zone.", "Delete the client's copy, and ask the user before uploading again."),
        (["zone does not exist"], "The zone was never created in this database, or was deleted.", "Create it first. In a shared database, the zone ID needs the owner's record name."),
        (["atomic"], "One item of the batch failed, and the zone saves a batch as a whole or not at all.", "Find the item whose error is not batchRequestFailed."),
        (["record not found"], "There is no record with this name in this zone of this database.", "Check the zone, database, user and environment."),
    ]
}
