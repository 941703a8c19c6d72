/// An error code of CloudKit: its name, its meaning, and the remedy for a client.
///
/// The facts are from Apple's reference pages "CKError.Code" and "Error Codes" (CloudKit Web Services Reference); those
/// of internal codes, which Apple does not document, from the errors that public logs quote with them. The wording is
/// Skylight's own.
public struct ErrorCode: Sendable, Hashable {
    /// The origin of a code.
    public enum Family: Sendable, Hashable {
        /// CloudKit.framework, in the domain CKErrorDomain.
        case framework
        /// The `serverErrorCode` of the web services.
        case server
        /// CloudKit JS itself.
        case javaScript
        /// CloudKit.framework's numbers behind the public codes, in the domain CKInternalErrorDomain.
        case `internal`
    }

    public let family: Family
    /// The number of a framework or internal code; `nil` for other families.
    public let number: Int?
    /// The name, such as `changeTokenExpired` or `ZONE_NOT_FOUND`.
    public let name: String
    /// The HTTP status of a request that failed as a whole, for server codes; `nil` for other families.
    public let status: Int?
    public let meaning: String
    public let remedy: String
    public let retry: RetryRule

    init(_ number: Int, _ name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(
            family: .framework, number: number, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(_ name: String, status: Int?, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(
            family: .server, number: nil, name: name, status: status, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(javaScript name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(
            family: .javaScript, number: nil, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(internal number: Int, _ name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(
            family: .internal, number: number, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    private init(
        family: Family, number: Int?, name: String, status: Int?, meaning: String, remedy: String, retry: RetryRule
    ) {
        self.family = family
        self.number = number
        self.name = name
        self.status = status
        self.meaning = meaning
        self.remedy = remedy
        self.retry = retry
    }

    /// `Change Token Expired`, as in error descriptions. Server names stay unchanged.
    public var title: String {
        if family != .framework { return name }
        var title = ""
        for character in name {
            if title.isEmpty {
                title += character.uppercased()
            } else {
                title += character.isUppercase ? " \(character)" : String(character)
            }
        }
        return title
    }

    /// The framework code with a number; `nil` if it is unknown.
    public static func framework(_ number: Int) -> ErrorCode? { framework.first { $0.number == number } }

    /// The internal code with a number; `nil` if it is unknown.
    public static func `internal`(_ number: Int) -> ErrorCode? { `internal`.first { $0.number == number } }

    /// The server or CloudKit JS code with a name; `nil` if it is unknown.
    public static func named(_ name: String) -> ErrorCode? {
        (server + javaScript).first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// The framework code with a name, such as `changeTokenExpired`, `CKErrorChangeTokenExpired` or `Change Token
    /// Expired`; `nil` if it is unknown.
    public static func frameworkNamed(_ name: String) -> ErrorCode? {
        let plain = (name.hasPrefix("CKError") ? String(name.dropFirst("CKError".count)) : name).filter { $0 != " " }
            .lowercased()
        return framework.first { $0.name.lowercased().utf8.elementsEqual(plain.utf8) }
    }
}

// MARK: - Repetition

/// The conditions for a retry of a failed request.
public enum RetryRule: Sendable, Hashable, CaseIterable {
    /// Never: the same request fails in the same way.
    case never
    /// The same request may be sent again after a pause.
    case later
    /// A corrected request may be sent after the cause is fixed.
    case mended
    /// The request may be sent again after a check whether it succeeded.
    case checked
    /// Each failed item has its own error and rule.
    case perItem

    /// A short description of the rule.
    public var title: String {
        switch self {
        case .never: "don't retry"
        case .later: "retry later"
        case .mended: "fix it, then retry"
        case .checked: "check first, then retry"
        case .perItem: "decide for each item"
        }
    }
}

// MARK: - Codes of CKError

extension ErrorCode {
    /// Every `CKError.Code`, by number.
    public static let framework: [ErrorCode] = [
        ErrorCode(
            1, "internalError", .never, "CloudKit failed with an error that can't be recovered.",
            "Keep the log and report the error. A retry does not help."),
        ErrorCode(
            2, "partialFailure", .perItem,
            "The operation ran, and some of its items failed. The errors of the items are in CKPartialErrorsByItemIDKey.",
            "Handle the error of each item. In a custom zone a batch is all or nothing: the item whose error is not batchRequestFailed is the cause."
        ),
        ErrorCode(
            3, "networkUnavailable", .later, "The device has no network.",
            "Wait for the network, then retry the operation. Wait longer after each attempt."),
        ErrorCode(
            4, "networkFailure", .later, "The network works, but CloudKit was not reached.",
            "Retry the operation with increasing delays."),
        ErrorCode(
            5, "badContainer", .mended, "The container is unknown, or this app may not use it.",
            "Compare the container's name with the entitlement and the developer account. A new container may not be ready for some minutes."
        ),
        ErrorCode(
            6, "serviceUnavailable", .later, "CloudKit is not available at the moment.",
            "Wait for CKErrorRetryAfterKey seconds, then retry the operation."),
        ErrorCode(
            7, "requestRateLimited", .later, "This client exceeds the rate limit.",
            "Wait for CKErrorRetryAfterKey seconds. Send fewer requests: pull changes with a token instead of querying by date, and use subscriptions."
        ),
        ErrorCode(
            8, "missingEntitlement", .mended, "The app was built without an entitlement that CloudKit needs.",
            "Add iCloud with CloudKit and the container to the target's capabilities, and build again."),
        ErrorCode(
            9, "notAuthenticated", .mended,
            "There is no signed-in iCloud account, or CloudKit could not authenticate it.",
            "Check the account status, and offer what works without an account. Continue when CKAccountChanged is posted."
        ),
        ErrorCode(
            10, "permissionFailure", .never,
            "The user may not read or write this. In the public database the type's security roles decide. Elsewhere the share decides, or the container does not belong to this app.",
            "Tell the user. To allow it, change the roles of the type and deploy them."),
        ErrorCode(
            11, "unknownItem", .mended,
            "The item does not exist. For a query: the record type does not exist in this environment.",
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
            "Take the server's record from CKRecordChangedErrorServerRecordKey, apply your changes to it, and save it. The other two records have the old tag and fail again."
        ),
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
            "If the app did not cancel it, start it again when the app runs. Set a suitable quality of service for long operations."
        ),
        ErrorCode(
            21, "changeTokenExpired", .mended,
            "The change token is too old, or its zone was deleted and created again. The server no longer knows what changed since.",
            "Discard the token and pull the zone without one. Store every record, then delete local records that were not returned."
        ),
        ErrorCode(
            22, "batchRequestFailed", .mended,
            "This item is fine. Another item of the batch failed, and a custom zone saves a batch as a whole or not at all.",
            "Fix the item that has another error, then send the whole batch again."),
        ErrorCode(
            23, "zoneBusy", .later, "Too many writes to the zone are in progress.",
            "Wait for CKErrorRetryAfterKey seconds, or else some seconds, and double the wait each time. Save fewer, larger batches."
        ),
        ErrorCode(
            24, "badDatabase", .never,
            "The operation is not possible in this database: the shared database can't create zones, the public database can't share records.",
            "Send it to another database."),
        ErrorCode(
            25, "quotaExceeded", .mended,
            "The storage is full: the user's iCloud storage for a private database, the owner's for a shared one, the container's for the public one.",
            "Tell the user whose storage is full. Keep unsaved changes, and continue when there is space."),
        ErrorCode(
            26, "zoneNotFound", .mended, "The zone does not exist, or was deleted.",
            "If you never created it, create it and save again. Otherwise check CKErrorUserDidResetEncryptedDataKey: if it is set, create the zone again and upload; if not, the zone was deleted, so delete the client's copy."
        ),
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
            30, "alreadyShared", .mended,
            "The record is already shared: by its own share, its parent's share, or a share of one of its children.",
            "Fetch the existing share and add the participants to it."),
        ErrorCode(
            31, "referenceViolation", .mended,
            "The target of a reference does not exist, or other records still refer to the record to delete.",
            "Save the target first or in the same batch. Delete the referring records first."),
        ErrorCode(
            32, "managedAccountRestricted", .never,
            "The account is managed by an organisation that does not allow this.",
            "Tell the user. The app can't change it."),
        ErrorCode(
            33, "participantMayNeedVerification", .mended,
            "The user is not a participant of the share, but may be one with an unverified address or phone number.",
            "Open the share's URL, so that the system can verify it."),
        ErrorCode(
            34, "serverResponseLost", .checked,
            "The connection was lost before the response. The server may have executed the operation.",
            "If the operation may run twice without harm, retry it. If not, fetch the records and check."),
        ErrorCode(
            35, "assetNotAvailable", .later,
            "The file of an asset can't be opened now: a permission is missing, or the device is locked.",
            "Try again when the file can be read."),
        ErrorCode(
            36, "accountTemporarilyUnavailable", .later,
            "There is an iCloud account, but it is not ready, for example because the user must enter the password.",
            "Keep the cache and start nothing new. Continue when CKAccountChanged reports that the account is available."
        ),
        ErrorCode(
            37, "participantAlreadyInvited", .mended,
            "The user is already invited to the share, and has not accepted yet.",
            "Accept the existing invitation."),
    ]
}

// MARK: - Codes of the web services

extension ErrorCode {
    /// Every known `serverErrorCode` of the web services.
    public static let server: [ErrorCode] = [
        ErrorCode(
            "ACCESS_DENIED", status: 403, .never,
            "The caller may not do this. The security roles of the type, or the share, don't allow it.",
            "The reason names the permission (READ, CREATE or WRITE). Check the type's roles, which also apply to server-to-server keys."
        ),
        ErrorCode(
            "ATOMIC_ERROR", status: 400, .mended, "Another item of the batch failed, so this one was not applied.",
            "Find the item with another code, fix it, and send the whole batch again."),
        ErrorCode(
            "AUTHENTICATION_FAILED", status: 401, .mended,
            "The credentials were refused: an unknown token, an origin that the token does not allow, or a wrong signature. All signing mistakes give the same error.",
            "Check the token's environment and origins. For signatures, check the date (within 10 minutes), the hash of the exact body, the path with its query, and the encoding (ASN.1 DER in base64)."
        ),
        ErrorCode(
            "AUTHENTICATION_REQUIRED", status: 421, .mended, "The request needs a user, and none is signed in.",
            "Send the user to redirectURL. Retry the request with the returned web auth token."),
        ErrorCode(
            "BAD_REQUEST", status: 400, .mended, "The request is not valid. The reason says why.",
            "Read the reason. It may be a missing index, a value with the wrong type, or an unknown or expired token."),
        ErrorCode(
            "CONFLICT", status: 409, .mended,
            "Someone else saved the record, or a record with this name already exists.",
            "Fetch the record, apply your changes, and save it with its recordChangeTag."),
        ErrorCode(
            "EXISTS", status: 409, .mended, "The item to create already exists.",
            "Update it, or choose another name."),
        ErrorCode(
            "INTERNAL_ERROR", status: 500, .later, "The server failed.",
            "Retry with increasing delays. If it persists, report it with the uuid."),
        ErrorCode(
            "NOT_FOUND", status: 404, .mended, "The record, the type or the path does not exist here.",
            "Treat a record as deleted. Check the database, zone and environment."),
        ErrorCode(
            "QUOTA_EXCEEDED", status: 413, .mended, "The storage is full, or a record or file is too large.",
            "A record may have 1 MB without its assets. Put large values into assets, and delete unneeded data."),
        ErrorCode(
            "THROTTLED", status: 429, .later, "The caller exceeds the rate limit.",
            "Wait for retryAfter seconds. Send fewer requests: pull changes with a token instead of querying by date."),
        ErrorCode(
            "TRY_AGAIN_LATER", status: 503, .later, "The server can't handle the request now.",
            "Wait for retryAfter seconds, or else some seconds, and longer each time."),
        ErrorCode(
            "VALIDATING_REFERENCE_ERROR", status: 412, .mended,
            "A VALIDATE reference prevents this: its target does not exist, or records still refer to the record to delete.",
            "Save the target first. Delete the referring records first."),
        ErrorCode(
            "ZONE_NOT_FOUND", status: 404, .mended, "The zone does not exist, or was deleted.",
            "Create it with zones/modify and save again. If it existed, it was deleted: delete the client's copy and its token."
        ),
        ErrorCode(
            "UNIQUE_FIELD_ERROR", status: nil, .mended, "A field must be unique, and another record has this value.",
            "Use the existing record, or another value."),
        ErrorCode(
            "ZONE_BUSY", status: nil, .later, "Too many writes to the zone are in progress.",
            "Wait some seconds, and longer each time. Save fewer, larger batches."),
    ]

    /// The errors that CloudKit JS creates itself, without an answer from the server.
    public static let javaScript: [ErrorCode] = [
        ErrorCode(
            javaScript: "NETWORK_ERROR", .later,
            "The browser got no response: there is no network, the address is wrong, or the server does not allow the page's origin.",
            "Check the browser's network panel. Only it shows a refused origin."),
        ErrorCode(
            javaScript: "SERVICE_UNAVAILABLE", .later, "The server returned status 503 without JSON.",
            "Retry with increasing delays."),
        ErrorCode(
            javaScript: "UNEXPECTED_SERVER_RESPONSE", .never, "The response has no array that CloudKit JS expects.",
            "Check the response: a proxy between the page and the server may have created it."),
        ErrorCode(
            javaScript: "INVALID_ARGUMENTS", .mended, "The call was refused before anything was sent.",
            "Read the message: it names the argument."),
        ErrorCode(
            javaScript: "CONFIGURATION_ERROR", .mended, "CloudKit.configure was not called, or a setting is missing.",
            "Pass the container, the environment and an API token."),
        ErrorCode(
            javaScript: "AUTH_PERSIST_ERROR", .mended,
            "The web auth token can't be kept: cookies or storage are blocked.",
            "Allow them for the page, or use your own store."),
        ErrorCode(
            javaScript: "SIGN_IN_FAILED", .mended, "The sign-in did not succeed or was closed.", "Offer it again."),
        ErrorCode(
            javaScript: "SHARE_UI_TIMEOUT", .mended, "The sharing window did not answer in time.", "Open it again."),
        ErrorCode(
            javaScript: "UNKNOWN_ERROR", .never, "CloudKit JS does not know the cause.",
            "Check the reason and the browser's console."),
    ]
}

// MARK: - Internal codes

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
            internal: 1009, "invalid argument", .mended,
            "The request was refused before or by the server: a predicate or a value does not fit.",
            "Read the message: it names the field."),
        ErrorCode(
            internal: 1011, "some items failed", .perItem, "The operation ran, and some of its items failed.",
            "Read the errors of the items in CKPartialErrors."),
        ErrorCode(
            internal: 1014, "container unknown", .mended,
            "The server has no such container, or the app may not use it.",
            "Compare the container's name with the entitlement and the developer account. Wait some minutes if it is new."
        ),
        ErrorCode(
            internal: 1017, "record graph", .mended,
            "The records of the operation do not fit together: parents in a circle, or a share without its root.",
            "Save the root with the share, and clear circular parents."),
        ErrorCode(
            internal: 1020, "too many items", .mended,
            "One operation has more items than a request may have, which is 400.",
            "Split the operation."),
        ErrorCode(
            internal: 1022, "share changed elsewhere", .mended,
            "The participants of the share were changed on two devices.",
            "Fetch the share, apply the change again, and save it."),
        ErrorCode(
            internal: 1029, "account must be confirmed", .later, "The account's token is missing or no longer good.",
            "Keep the local copy. Continue when CKAccountChanged is posted; the user may have to enter the password."),
        ErrorCode(
            internal: 2000, "internal server error", .later,
            "CloudKit's server failed, and gives no reason. New containers were seen to answer so for some hours.",
            "Retry with increasing delays. If it stays, report it with the uuid."),
        ErrorCode(
            internal: 2001, "HTTP error", .later,
            "The server answered with an HTTP error without CloudKit's own words.",
            "Retry later. With status 401, sign in again."),
        ErrorCode(
            internal: 2003, "record or type not found", .mended,
            "The record, or the record type, does not exist there.",
            "Check the zone, database and environment, and whether the schema is deployed."),
        ErrorCode(
            internal: 2004, "change tag out of date", .mended,
            "Someone else saved the record after this client read it.",
            "Merge into the server's record, and save that."),
        ErrorCode(
            internal: 2006, "invalid request", .mended,
            "A type, field or value does not fit the schema. In production, often a field that was not deployed.",
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
            internal: 2032, "subscription refused", .never,
            "The subscription is a duplicate of another one, or can't be made there.",
            "List the subscriptions, and keep the one that is there."),
        ErrorCode(
            internal: 2035, "storage full", .mended, "The iCloud storage of the database's owner is full.",
            "Tell the user, and retry when there is space."),
        ErrorCode(
            internal: 2036, "zone not found", .mended, "The zone does not exist in this database.",
            "Create it, or delete the client's copy if it was deleted."),
        ErrorCode(
            internal: 2037, "record exists, or its keys differ", .mended,
            "A record with this name exists already, or the keys of the zone were made on two devices.",
            "Fetch the record, then save it with its tag."),
        ErrorCode(
            internal: 2053, "zone's keys unknown", .mended,
            "The device does not have the keys that encrypt the zone, often after a reset of the encrypted data.",
            "Check CKErrorUserDidResetEncryptedDataKey. If it is set, create the zone again and upload."),
        ErrorCode(
            internal: 2061, "held back after status 503", .later,
            "CloudKit.framework holds requests back, because an earlier one was answered with 503.",
            "Wait for the stated seconds."),
        ErrorCode(
            internal: 2062, "held back after status 429", .later,
            "CloudKit.framework holds requests back, because an earlier one was answered with 429.",
            "Wait for the stated seconds, and send fewer, larger operations."),
        ErrorCode(
            internal: 4000, "no signing certificate", .later, "The device could not get its certificate from Apple.",
            "Check the device's clock and Apple's system status, and retry later."),
        ErrorCode(
            internal: 6000, "server function failed", .later,
            "A function of Apple's own service failed. Other apps meet it in Apple's logs only.",
            "Nothing to do in an app."),
    ]
}
