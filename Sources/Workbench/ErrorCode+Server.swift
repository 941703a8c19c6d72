extension ErrorCode {
    /// Every known `serverErrorCode` of the web services.
    public static let server: [ErrorCode] = [
        ErrorCode(
            "ACCESS_DENIED", status: 403, .never, "The caller may not do this. The security roles of the type, or the share, don't allow it.",
            "The reason names the permission (READ, CREATE or WRITE). Check the type's roles, which also apply to server-to-server keys."),
        ErrorCode(
            "ATOMIC_ERROR", status: 400, .mended, "Another item of the batch failed, so this one was not applied.",
            "Find the item with another code, fix it, and send the whole batch again."),
        ErrorCode(
            "AUTHENTICATION_FAILED", status: 401, .mended,
            "The credentials were refused: an unknown token, an origin that the token does not allow, or a wrong signature. All signing mistakes give the same error.",
            "Check the token's environment and origins. For signatures, check the date (within 10 minutes), the hash of the exact body, the path with its query, and the encoding (ASN.1 DER in base64)."),
        ErrorCode(
            "AUTHENTICATION_REQUIRED", status: 421, .mended, "The request needs a user, and none is signed in.",
            "Send the user to redirectURL. Retry the request with the returned web auth token."),
        ErrorCode(
            "BAD_REQUEST", status: 400, .mended, "The request is not valid. The reason says why.",
            "Read the reason. It may be a missing index, a value with the wrong type, or an unknown or expired token."),
        ErrorCode(
            "CONFLICT", status: 409, .mended, "Someone else saved the record, or a record with this name already exists.",
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
            "Create it with zones/modify and save again. If it existed, it was deleted: delete the client's copy and its token."),
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
            javaScript: "NETWORK_ERROR", .later, "The browser got no response: there is no network, the address is wrong, or the server does not allow the page's origin.",
            "Check the browser's network panel. Only it shows a refused origin."),
        ErrorCode(
            javaScript: "SERVICE_UNAVAILABLE", .later, "The server returned status 503 without JSON.", "Retry with increasing delays."),
        ErrorCode(
            javaScript: "UNEXPECTED_SERVER_RESPONSE", .never, "The response has no array that CloudKit JS expects.",
            "Check the response: a proxy between the page and the server may have created it."),
        ErrorCode(
            javaScript: "INVALID_ARGUMENTS", .mended, "The call was refused before anything was sent.", "Read the message: it names the argument."),
        ErrorCode(
            javaScript: "CONFIGURATION_ERROR", .mended, "CloudKit.configure was not called, or a setting is missing.",
            "Pass the container, the environment and an API token."),
        ErrorCode(
            javaScript: "AUTH_PERSIST_ERROR", .mended, "The web auth token can't be kept: cookies or storage are blocked.",
            "Allow them for the page, or use your own store."),
        ErrorCode(
            javaScript: "SIGN_IN_FAILED", .mended, "The sign-in did not succeed or was closed.", "Offer it again."),
        ErrorCode(
            javaScript: "SHARE_UI_TIMEOUT", .mended, "The sharing window did not answer in time.", "Open it again."),
        ErrorCode(
            javaScript: "UNKNOWN_ERROR", .never, "CloudKit JS does not know the cause.", "Check the reason and the browser's console."),
    ]
}
