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
            ["recordname", "not marked queryable"], "A query without a filter is a query by recordName, and every type needs an index for that, added by hand.",
            "Mark recordName QUERYABLE on the type, in development, then deploy. In a schema file the same index is called ___recordID."
        ),
        (
            ["___recordid", "not marked queryable"], "A query without a filter is a query by recordName, and every type needs an index for that, added by hand.",
            "Mark recordName QUERYABLE on the type, in development, then deploy. In a schema file the same index is called ___recordID."
        ),
        (["not marked queryable"], "The filter asks for a field that has no index to find it by.", "Mark the field QUERYABLE, in development, then deploy."),
        (["not marked sortable"], "The query sorts by a field without the index for it; QUERYABLE alone never sorts.", "Mark the field SORTABLE, in development, then deploy."),
        (["not marked indexable"], "The type has no index at all, so it can't be queried.", "Mark recordName QUERYABLE, or the field that you filter by."),
        (
            ["in production schema"], "Production knows only what was deployed to it, and never learns types and fields from saves.",
            "Save one record with every field set in development, see that the type is complete, then deploy the schema. One field that lacks stops all of a sync."
        ),
        (
            ["client knowledge differs"], "The change token is expired: deletions after it were purged, the zone was made anew, or the store was restored.",
            "Pull the zone without a token, take all that comes, then delete locally what did not come."
        ),
        (
            ["unknown sync continuation type"], "The token is damaged, or belongs to another zone, database or user. A database token is no zone token.",
            "Keep one token for each zone and one for the database, and send each back as it came. The page Tokens says which one it is."
        ),
        (
            ["syncToken operations supported only in".lowercased()], "The default zone has no feed of changes.", "Keep records that are synced in a custom zone."
        ),
        (["appdefaultzone does not support"], "The default zone has no feed of changes.", "Keep records that are synced in a custom zone."),
        (
            ["record to insert already exists"], "The save says ‘create’, and a record of this name exists: it was saved before, perhaps by an attempt whose answer got lost.",
            "Fetch the record and update it; or save with a policy that does not compare tags."
        ),
        (
            ["oplock"], "The record was saved by someone else after this client had read it: the tag that was sent is not the present one.",
            "Fetch it, put your changes into the server's version, save that one. Tags that differ by much mean that the client does not keep the tag of its own saves."
        ),
        (["recordchangetag specified, but record not found"], "The record was deleted since this client read it.", "Delete it locally, or save it as a new one."),
        (["did not find record type"], "The type does not exist in this environment.", "Save a record of it in development, or deploy the schema to production."),
        (["can't query system types"], "Users and shares can't be queried.", "Fetch the user's record by its name."),
        (["invalid attempt to set value type"], "The field exists with another type; the first save, or the schema, decided it.", "Send the value with the type that the schema has. A field's type never changes: take a new field."),
        (["cannot be queried using filter value type"], "The filter's value is of another type than the field.", "For a reference, give {\"recordName\": …} with the type REFERENCE."),
        (["unexpected input"], "The body is not of the shape that the service expects.", "An IN filter needs a list with its type, such as STRING_LIST. Compare the body with the documentation of the service."),
        (["no auth method found"], "The request has no credentials, or they don't belong to this container and environment.", "Send ckAPIToken, or the three headers of a signed request."),
        (["request needs authorization"], "A user's data was asked for without a user.", "Sign in at redirectURL and send ckWebAuthToken."),
        (["private db access disabled"], "The account has no CloudKit data for this container, often because it is managed or was never used.", "Sign in on a device with this account once, or use another account."),
        (["invalid bundle id for container"], "The app's bundle identifier is not among those that may use the container.", "Connect the app identifier with the container in the developer account, and build with that profile."),
        (["operation not permitted"], "The security roles of the type don't grant this to the caller.", "Grant CREATE, READ or WRITE to the role that the caller has, and deploy. _world is everyone, _icloud whoever is signed in."),
        (["would violate validating reference"], "Records with a VALIDATE reference still point at it.", "Delete those first, or change the reference's action."),
        (["quota exceeded"], "The storage of whoever owns the database is full.", "In a private database, that is the user's iCloud storage. Keep what was not saved."),
        (["record too large"], "A record may have 1 MB without its assets.", "Put large values into an asset."),
        (["save encrypted data in non encrypted"], "A value was sent as encrypted for a field that is not declared so; the declaration never changes.", "Take a new field with an ENCRYPTED type."),
        (["zone was purged"], "The user deleted the app's data of this zone.", "Delete what the client keeps of it, and ask before uploading again."),
        (["zone does not exist"], "The zone was never made in this database, or was deleted.", "Create it first. In a shared database, the owner's name belongs to the zone's identity."),
        (["atomic"], "One item of the batch failed, and the zone takes a batch as a whole or not at all.", "Look for the item with another error than batchRequestFailed."),
        (["record not found"], "There is no record of this name in this zone of this database.", "See whether zone, database, user and environment are those where it was saved."),
    ]
}
