extension ErrorCode {
    /// The domain of the internal codes.
    public static let internalDomain = "CKInternalErrorDomain"

    /// The internal codes that public logs quote, by number: the second number of `(15/2000)`.
    public static let `internal`: [ErrorCode] = [
        ErrorCode(
            internal: 1002, "not authenticated", .mended, "No iCloud account is signed in, or the app may not use it.",
            "Sign in to iCloud, and check the switch of the app in the settings."),
        ErrorCode(
            internal: 1004, "account not ready", .mended, "The account must accept new terms, or is suspended.",
            "Ask the user to open the settings."),
        ErrorCode(
            internal: 1009, "invalid argument", .mended, "The request was refused before or by the server: a predicate or a value does not fit.",
            "Read the message: it names the field."),
        ErrorCode(
            internal: 1011, "some items failed", .perItem, "The operation ran, and some of its items failed.",
            "Read the errors of the items in CKPartialErrors."),
        ErrorCode(
            internal: 1014, "container unknown", .mended, "The server has no such container, or the app may not use it.",
            "Compare the container's name with the entitlement and the developer account. Wait some minutes if it is new."),
        ErrorCode(
            internal: 1017, "record graph", .mended, "The records of the operation do not fit together: parents in a circle, or a share without its root.",
            "Save the root with the share, and clear circular parents."),
        ErrorCode(
            internal: 1020, "too many items", .mended, "One operation has more items than a request may have, which is 400.",
            "Split the operation."),
        ErrorCode(
            internal: 1022, "share changed elsewhere", .mended, "The participants of the share were changed on two devices.",
            "Fetch the share, apply the change again, and save it."),
        ErrorCode(
            internal: 1029, "account must be confirmed", .later, "The account's token is missing or no longer good.",
            "Keep the local copy. Continue when CKAccountChanged is posted; the user may have to enter the password."),
        ErrorCode(
            internal: 2000, "internal server error", .later, "CloudKit's server failed, and gives no reason. New containers were seen to answer so for some hours.",
            "Retry with increasing delays. If it stays, report it with the uuid."),
        ErrorCode(
            internal: 2001, "HTTP error", .later, "The server answered with an HTTP error without CloudKit's own words.",
            "Retry later. With status 401, sign in again."),
        ErrorCode(
            internal: 2003, "record or type not found", .mended, "The record, or the record type, does not exist there.",
            "Check the zone, database and environment, and whether the schema is deployed."),
        ErrorCode(
            internal: 2004, "change tag out of date", .mended, "Someone else saved the record after this client read it.",
            "Merge into the server's record, and save that."),
        ErrorCode(
            internal: 2006, "invalid request", .mended, "A type, field or value does not fit the schema. In production, often a field that was not deployed.",
            "Read the server's message, deploy the schema."),
        ErrorCode(
            internal: 2007, "not permitted", .never, "The roles, the share or the app identifier do not allow it.",
            "Read the server's message: it names the permission or the bundle."),
        ErrorCode(
            internal: 2009, "busy", .later, "The zone or the service is busy.",
            "Wait for the stated seconds, then retry."),
        ErrorCode(
            internal: 2011, "token refused", .later, "The server refused the account's token.",
            "As for 1029: the account must be confirmed."),
        ErrorCode(
            internal: 2015, "index missing", .mended, "The query uses a field or type without the index that it needs.",
            "Add the index that the message names, and deploy it."),
        ErrorCode(
            internal: 2022, "service unavailable", .later, "The server answered with status 503.",
            "Wait for the stated seconds, then retry."),
        ErrorCode(
            internal: 2023, "limit exceeded", .mended, "The request has too many items or filter values.",
            "Split it."),
        ErrorCode(
            internal: 2024, "another item failed", .mended, "This item is fine; another one of the batch failed.",
            "Find the item with another error."),
        ErrorCode(
            internal: 2026, "change token expired", .mended, "The server no longer knows what changed since the token.",
            "Pull the zone without a token."),
        ErrorCode(
            internal: 2027, "no changes feed", .never, "The default zone has no changes feed.",
            "Save synced records in a custom zone."),
        ErrorCode(
            internal: 2032, "subscription refused", .never, "The subscription is a duplicate of another one, or can't be made there.",
            "List the subscriptions, and keep the one that is there."),
        ErrorCode(
            internal: 2035, "storage full", .mended, "The iCloud storage of the database's owner is full.",
            "Tell the user, and retry when there is space."),
        ErrorCode(
            internal: 2036, "zone not found", .mended, "The zone does not exist in this database.",
            "Create it, or delete the client's copy if it was deleted."),
        ErrorCode(
            internal: 2037, "record exists, or its keys differ", .mended, "A record with this name exists already, or the keys of the zone were made on two devices.",
            "Fetch the record, then save it with its tag."),
        ErrorCode(
            internal: 2053, "zone's keys unknown", .mended, "The device does not have the keys that encrypt the zone, often after a reset of the encrypted data.",
            "Check CKErrorUserDidResetEncryptedDataKey. If it is set, create the zone again and upload."),
        ErrorCode(
            internal: 2061, "held back after status 503", .later, "CloudKit.framework holds requests back, because an earlier one was answered with 503.",
            "Wait for the stated seconds."),
        ErrorCode(
            internal: 2062, "held back after status 429", .later, "CloudKit.framework holds requests back, because an earlier one was answered with 429.",
            "Wait for the stated seconds, and send fewer, larger operations."),
        ErrorCode(
            internal: 4000, "no signing certificate", .later, "The device could not get its certificate from Apple.",
            "Check the device's clock and Apple's system status, and retry later."),
        ErrorCode(
            internal: 6000, "server function failed", .later, "A function of Apple's own service failed. Other apps meet it in Apple's logs only.",
            "Nothing to do in an app."),
    ]
}
