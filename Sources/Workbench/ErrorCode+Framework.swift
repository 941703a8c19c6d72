extension ErrorCode {
    /// Every `CKError.Code`, by number.
    public static let framework: [ErrorCode] = [
        ErrorCode(
            1, "internalError", .never, "CloudKit itself went wrong, in a way that can't be recovered from.",
            "Keep the log and report it. Sending the same again does not help."),
        ErrorCode(
            2, "partialFailure", .perItem,
            "The operation ran, and some of its items failed. The item's own errors are in CKPartialErrorsByItemIDKey; this one says nothing more.",
            "Go through the items' errors and act on each. In a custom zone a batch is all or nothing: look for the item whose error is not batchRequestFailed, it is the cause."),
        ErrorCode(
            3, "networkUnavailable", .later, "The device has no network.",
            "Wait until it is reachable again, then send the same operation. Pause longer after each attempt."),
        ErrorCode(
            4, "networkFailure", .later, "There is a network, but CloudKit was not reached over it.",
            "Send the same operation again, with longer and longer pauses."),
        ErrorCode(
            5, "badContainer", .mended, "The container is unknown, or this app may not use it.",
            "Compare the container's name with the entitlement and the developer account. A container made minutes ago may not be ready."),
        ErrorCode(
            6, "serviceUnavailable", .later, "CloudKit is not available at the moment.",
            "Wait as many seconds as CKErrorRetryAfterKey says, then send the same operation."),
        ErrorCode(
            7, "requestRateLimited", .later, "This client asks more often than it may.",
            "Wait as many seconds as CKErrorRetryAfterKey says. Then ask less: pull changes with a token where you query by date, and let subscriptions tell you when."),
        ErrorCode(
            8, "missingEntitlement", .mended, "The app was built without an entitlement that CloudKit needs.",
            "Add iCloud with CloudKit and the container to the target's capabilities, and build anew."),
        ErrorCode(
            9, "notAuthenticated", .mended, "There is no signed-in iCloud account, or CloudKit could not authenticate it.",
            "Ask for the account's status, and offer what works without an account. Go on when CKAccountChanged is posted."),
        ErrorCode(
            10, "permissionFailure", .never,
            "The user may not read or write this. In the public database the type's security roles say so; elsewhere the share does, or the container does not belong to this app.",
            "Tell the user that it is not allowed. If it should be, change the roles of the type and deploy them."),
        ErrorCode(
            11, "unknownItem", .mended, "The record, or whatever the request is about, does not exist. Of a query: the record type does not exist in this environment.",
            "Treat the item as deleted. If it is the type that is unknown, deploy the schema."),
        ErrorCode(
            12, "invalidArguments", .mended,
            "The request contains something that is not allowed: a field that is not marked queryable, a value of another type than the schema has, a type that production does not know.",
            "Read the server's message: it names the field and the rule."),
        ErrorCode(
            13, "resultsTruncated", .mended, "A query's result was cut. Systems of today don't report this any more.",
            "Go on with the query's cursor."),
        ErrorCode(
            14, "serverRecordChanged", .mended,
            "The record was saved by someone else since this client read it: its change tag is not the server's.",
            "Take the server's record from CKRecordChangedErrorServerRecordKey, put your changes into that one, and save it. The other two records have the old tag and would fail again."),
        ErrorCode(
            15, "serverRejectedRequest", .never, "The server refused the request, for a reason that only its message tells.",
            "Read the server's message. The same request is refused again."),
        ErrorCode(
            16, "assetFileNotFound", .mended, "The file of an asset is not where its URL says.",
            "Keep the file until the save has ended, then save again."),
        ErrorCode(
            17, "assetFileModified", .mended, "The file of an asset changed while it was being saved.",
            "Save from a copy that nobody writes to."),
        ErrorCode(
            18, "incompatibleVersion", .never, "This version of the app is older than the oldest one allowed.",
            "Ask the user to update the app."),
        ErrorCode(
            19, "constraintViolation", .mended, "The server keeps a field unique, and there is a record with this value.",
            "Use the record that is there, or another value."),
        ErrorCode(
            20, "operationCancelled", .mended, "The operation was cancelled, by the app or by the system.",
            "If it was not you: start it again when the app runs. Give long operations a quality of service that fits."),
        ErrorCode(
            21, "changeTokenExpired", .mended,
            "The change token is too old, or its zone was made anew: the server can't tell any more what changed since.",
            "Throw the token away and pull the zone without one. Take all that comes, then delete locally what did not come."),
        ErrorCode(
            22, "batchRequestFailed", .mended,
            "Nothing is wrong with this item: another one of the same batch failed, and a custom zone takes a batch as a whole or not at all.",
            "Mend the item that has another error than this, then send the whole batch again."),
        ErrorCode(
            23, "zoneBusy", .later, "Too much is being written to the zone at this moment.",
            "Wait as long as CKErrorRetryAfterKey says, else some seconds, and twice as long each time. Save in larger batches and fewer of them."),
        ErrorCode(
            24, "badDatabase", .never, "The operation does not fit the database: zones can't be made in the shared one, nothing can be shared in the public one.",
            "Send it to the database that it is meant for."),
        ErrorCode(
            25, "quotaExceeded", .mended,
            "There is no room. In a private database it is the user's iCloud storage, in a shared one that of the owner, in the public one the container's.",
            "Tell the user whose storage is full. Keep what was not saved, and go on when there is room."),
        ErrorCode(
            26, "zoneNotFound", .mended, "The zone does not exist, or no longer.",
            "If you never made it, create it and save again. If it was there, look at CKErrorUserDidResetEncryptedDataKey: with it, make the zone anew and upload; without it, the zone was deleted, so delete what the client keeps of it."),
        ErrorCode(
            27, "limitExceeded", .mended, "The request is too large: as a guide, 400 items or 2 MB without assets.",
            "Divide the items in two halves and send each, and so on."),
        ErrorCode(
            28, "userDeletedZone", .never, "The user deleted the app's data in the system's settings.",
            "Delete what the client keeps of the zone. Ask before anything is uploaded again."),
        ErrorCode(
            29, "tooManyParticipants", .mended, "The share has more participants than allowed, which is about 100.",
            "Remove some, then save it again."),
        ErrorCode(
            30, "alreadyShared", .mended, "The record is in a share already: its own, that of its parent, or one of its children has one.",
            "Fetch the share that exists and add the participants to it."),
        ErrorCode(
            31, "referenceViolation", .mended, "The target of a reference was not found, or others still refer to what is to be deleted.",
            "Save the target first or in the same batch; delete those that refer to it first."),
        ErrorCode(
            32, "managedAccountRestricted", .never, "The account is managed by an organisation that does not allow this.",
            "Tell the user. The app can't change it."),
        ErrorCode(
            33, "participantMayNeedVerification", .mended,
            "The user is no participant of the share, but may be one under an address or a number that is not verified.",
            "Open the share's URL, so that the system can verify it."),
        ErrorCode(
            34, "serverResponseLost", .checked, "The connection broke before the answer came. The server may have done what was asked.",
            "If the operation may run twice without harm, send it again. If not, fetch the records and see."),
        ErrorCode(
            35, "assetNotAvailable", .later, "The file of an asset can't be opened at the moment, for want of permission or because the device is locked.",
            "Try again when the file can be read."),
        ErrorCode(
            36, "accountTemporarilyUnavailable", .later, "There is an iCloud account, but it is not ready, for example because the user must enter the password.",
            "Keep all that is cached and start nothing new. Go on when CKAccountChanged says that the account is available."),
        ErrorCode(
            37, "participantAlreadyInvited", .mended, "The user is invited to the share already, and has not accepted yet.",
            "Accept the invitation that exists."),
    ]
}
