extension ErrorCode {
    /// Every `CKError.Code`, by number.
    public static let framework: [ErrorCode] = [
        ErrorCode(
            1, "internalError", .never, "CloudKit failed with an error that can't be recovered.",
            "Keep the log and report the error. A retry does not help."),
        ErrorCode(
            2, "partialFailure", .perItem,
            "The operation ran, and some of its items failed. The errors of the items are in CKPartialErrorsByItemIDKey.",
            "Handle the error of each item. In a custom zone a batch is all or nothing: the item whose error is not batchRequestFailed is the cause."),
        ErrorCode(
            3, "networkUnavailable", .later, "The device has no network.",
            "Wait for the network, then retry the operation. Wait longer after each attempt."),
        ErrorCode(
            4, "networkFailure", .later, "The network works, but CloudKit was not reached.",
            "Retry the operation with increasing delays."),
        ErrorCode(
            5, "badContainer", .mended, "The container is unknown, or this app may not use it.",
            "Compare the container's name with the entitlement and the developer account. A new container may not be ready for some minutes."),
        ErrorCode(
            6, "serviceUnavailable", .later, "CloudKit is not available at the moment.",
            "Wait for CKErrorRetryAfterKey seconds, then retry the operation."),
        ErrorCode(
            7, "requestRateLimited", .later, "This client exceeds the rate limit.",
            "Wait for CKErrorRetryAfterKey seconds. Send fewer requests: pull changes with a token instead of querying by date, and use subscriptions."),
        ErrorCode(
            8, "missingEntitlement", .mended, "The app was built without an entitlement that CloudKit needs.",
            "Add iCloud with CloudKit and the container to the target's capabilities, and build again."),
        ErrorCode(
            9, "notAuthenticated", .mended, "There is no signed-in iCloud account, or CloudKit could not authenticate it.",
            "Check the account status, and offer what works without an account. Continue when CKAccountChanged is posted."),
        ErrorCode(
            10, "permissionFailure", .never,
            "The user may not read or write this. In the public database the type's security roles decide. Elsewhere the share decides, or the container does not belong to this app.",
            "Tell the user. To allow it, change the roles of the type and deploy them."),
        ErrorCode(
            11, "unknownItem", .mended, "The item does not exist. For a query: the record type does not exist in this environment.",
            "Treat the item as deleted. If the type is unknown, deploy the schema."),
        ErrorCode(
            12, "invalidArguments", .mended,
            "The request is not valid. Examples: a field that is not marked queryable, a value with the wrong type, a type that production does not have.",
            "Read the server's message: it names the field and the rule."),
        ErrorCode(
            13, "resultsTruncated", .mended, "A query's result was cut. Current systems no longer report this.",
            "Continue with the query's cursor."),
        ErrorCode(
            14, "serverRecordChanged", .mended,
            "Someone else saved the record after this client read it, so its change tag is out of date.",
            "Take the server's record from CKRecordChangedErrorServerRecordKey, apply your changes to it, and save it. The other two records have the old tag and fail again."),
        ErrorCode(
            15, "serverRejectedRequest", .never, "The server refused the request. Only its message gives the reason.",
            "Read the server's message. The same request is refused again."),
        ErrorCode(
            16, "assetFileNotFound", .mended, "The file of an asset is not where its URL says.",
            "Keep the file until the save has ended, then save again."),
        ErrorCode(
            17, "assetFileModified", .mended, "The file of an asset changed while it was being saved.",
            "Save from a copy of the file."),
        ErrorCode(
            18, "incompatibleVersion", .never, "This version of the app is older than the oldest one allowed.",
            "Ask the user to update the app."),
        ErrorCode(
            19, "constraintViolation", .mended, "A field must be unique, and another record has this value.",
            "Use the existing record, or another value."),
        ErrorCode(
            20, "operationCancelled", .mended, "The operation was cancelled, by the app or by the system.",
            "If the app did not cancel it, start it again when the app runs. Set a suitable quality of service for long operations."),
        ErrorCode(
            21, "changeTokenExpired", .mended,
            "The change token is too old, or its zone was deleted and created again. The server no longer knows what changed since.",
            "Discard the token and pull the zone without one. Store every record, then delete local records that were not returned."),
        ErrorCode(
            22, "batchRequestFailed", .mended,
            "This item is fine. Another item of the batch failed, and a custom zone saves a batch as a whole or not at all.",
            "Fix the item that has another error, then send the whole batch again."),
        ErrorCode(
            23, "zoneBusy", .later, "Too many writes to the zone are in progress.",
            "Wait for CKErrorRetryAfterKey seconds, or else some seconds, and double the wait each time. Save fewer, larger batches."),
        ErrorCode(
            24, "badDatabase", .never, "The operation is not possible in this database: the shared database can't create zones, the public database can't share records.",
            "Send it to another database."),
        ErrorCode(
            25, "quotaExceeded", .mended,
            "The storage is full: the user's iCloud storage for a private database, the owner's for a shared one, the container's for the public one.",
            "Tell the user whose storage is full. Keep unsaved changes, and continue when there is space."),
        ErrorCode(
            26, "zoneNotFound", .mended, "The zone does not exist, or was deleted.",
            "If you never created it, create it and save again. Otherwise check CKErrorUserDidResetEncryptedDataKey: if it is set, create the zone again and upload; if not, the zone was deleted, so delete the client's copy."),
        ErrorCode(
            27, "limitExceeded", .mended, "The request is too large: as a guide, 400 items or 2 MB without assets.",
            "Split the items in half and send each half; repeat if needed."),
        ErrorCode(
            28, "userDeletedZone", .never, "The user deleted the app's data in the system's settings.",
            "Delete the client's copy of the zone. Ask the user before uploading again."),
        ErrorCode(
            29, "tooManyParticipants", .mended, "The share has more participants than allowed, which is about 100.",
            "Remove some, then save it again."),
        ErrorCode(
            30, "alreadyShared", .mended, "The record is already shared: by its own share, its parent's share, or a share of one of its children.",
            "Fetch the existing share and add the participants to it."),
        ErrorCode(
            31, "referenceViolation", .mended, "The target of a reference does not exist, or other records still refer to the record to delete.",
            "Save the target first or in the same batch. Delete the referring records first."),
        ErrorCode(
            32, "managedAccountRestricted", .never, "The account is managed by an organisation that does not allow this.",
            "Tell the user. The app can't change it."),
        ErrorCode(
            33, "participantMayNeedVerification", .mended,
            "The user is not a participant of the share, but may be one with an unverified address or phone number.",
            "Open the share's URL, so that the system can verify it."),
        ErrorCode(
            34, "serverResponseLost", .checked, "The connection was lost before the response. The server may have executed the operation.",
            "If the operation may run twice without harm, retry it. If not, fetch the records and check."),
        ErrorCode(
            35, "assetNotAvailable", .later, "The file of an asset can't be opened now: a permission is missing, or the device is locked.",
            "Try again when the file can be read."),
        ErrorCode(
            36, "accountTemporarilyUnavailable", .later, "There is an iCloud account, but it is not ready, for example because the user must enter the password.",
            "Keep the cache and start nothing new. Continue when CKAccountChanged reports that the account is available."),
        ErrorCode(
            37, "participantAlreadyInvited", .mended, "The user is already invited to the share, and has not accepted yet.",
            "Accept the existing invitation."),
    ]
}
