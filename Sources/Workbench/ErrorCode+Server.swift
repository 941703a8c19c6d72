extension ErrorCode {
    /// Every known `serverErrorCode` of the web services.
    public static let server: [ErrorCode] = [
        ErrorCode(
            "ACCESS_DENIED", status: 403, .never, "The caller may not do this: the security roles of the type, or the share, don't allow it.",
            "See the reason for READ, CREATE or WRITE, and the type's roles. A server-to-server key is bound by roles too."),
        ErrorCode(
            "ATOMIC_ERROR", status: 400, .mended, "Another item of the batch failed, so this one was not applied either.",
            "Look for the item that has another code, mend it, and send the whole batch again."),
        ErrorCode(
            "AUTHENTICATION_FAILED", status: 401, .mended,
            "The credentials were refused: an unknown token, an origin that the token does not allow, or a signature that does not fit. All signing mistakes look alike.",
            "Check the token's environment and origins. For signatures: the time within 10 minutes, the hash of the exact body, the path with its query, ASN.1 DER in base64."),
        ErrorCode(
            "AUTHENTICATION_REQUIRED", status: 421, .mended, "The request needs a user, and none is signed in.",
            "Send the user to redirectURL; with the web auth token that comes back, send the request again."),
        ErrorCode(
            "BAD_REQUEST", status: 400, .mended, "Something in the request is not allowed; the reason says what.",
            "Read the reason: an index that lacks, a value of the wrong type, a token that is unknown or expired."),
        ErrorCode(
            "CONFLICT", status: 409, .mended, "The record was saved by someone else since, or one of this name exists already.",
            "Fetch the record, put your changes into it, and save it with its recordChangeTag."),
        ErrorCode(
            "EXISTS", status: 409, .mended, "What is to be created is there already.",
            "Update it, or choose another name."),
        ErrorCode(
            "INTERNAL_ERROR", status: 500, .later, "The server went wrong.",
            "Try again with longer and longer pauses. If it stays, report it with the uuid."),
        ErrorCode(
            "NOT_FOUND", status: 404, .mended, "The record, the type or the path does not exist here.",
            "Treat a record as deleted. See whether database, zone and environment are those where it was saved."),
        ErrorCode(
            "QUOTA_EXCEEDED", status: 413, .mended, "There is no room, or a record or file is larger than allowed.",
            "A record may have 1 MB without its assets. Put large values into assets, and delete what nobody needs."),
        ErrorCode(
            "THROTTLED", status: 429, .later, "The caller asks more often than it may.",
            "Wait as many seconds as retryAfter says. Then ask less: changes since a token instead of queries by date."),
        ErrorCode(
            "TRY_AGAIN_LATER", status: 503, .later, "The server can't take the request at the moment.",
            "Wait as many seconds as retryAfter says, else some, and longer each time."),
        ErrorCode(
            "VALIDATING_REFERENCE_ERROR", status: 412, .mended,
            "A reference with the action VALIDATE holds: its target is missing, or records still refer to what is to be deleted.",
            "Save the target first; delete those that refer to it first."),
        ErrorCode(
            "ZONE_NOT_FOUND", status: 404, .mended, "The zone does not exist, or no longer.",
            "Create it with zones/modify and save again. If it was there, it was deleted: delete what the client keeps of it, its token too."),
        ErrorCode(
            "UNIQUE_FIELD_ERROR", status: nil, .mended, "A field must be unique, and another record has this value.",
            "Use the record that is there, or another value."),
        ErrorCode(
            "ZONE_BUSY", status: nil, .later, "Too much is being written to the zone at this moment.",
            "Wait some seconds, and longer each time. Save in larger batches and fewer of them."),
    ]

    /// The errors that CloudKit JS creates itself, without an answer from the server.
    public static let javaScript: [ErrorCode] = [
        ErrorCode(
            javaScript: "NETWORK_ERROR", .later, "The browser got no answer: no network, a wrong address, or a server that does not allow the page's origin.",
            "See the browser's network panel; a refusal for the origin is only told there."),
        ErrorCode(
            javaScript: "SERVICE_UNAVAILABLE", .later, "The server answered 503 with something that is no JSON.", "Try again with longer and longer pauses."),
        ErrorCode(
            javaScript: "UNEXPECTED_SERVER_RESPONSE", .never, "The answer lacks the array that CloudKit JS looks for.",
            "Look at the answer: something between the page and the server may have made it."),
        ErrorCode(
            javaScript: "INVALID_ARGUMENTS", .mended, "The call was refused before anything was sent.", "Read the message: it names the argument."),
        ErrorCode(
            javaScript: "CONFIGURATION_ERROR", .mended, "CloudKit.configure was not called, or with something missing.",
            "Give it the container, the environment and an API token."),
        ErrorCode(
            javaScript: "AUTH_PERSIST_ERROR", .mended, "The web auth token can't be kept: cookies or storage are blocked.",
            "Allow them for the page, or bring a store of your own."),
        ErrorCode(
            javaScript: "SIGN_IN_FAILED", .mended, "The sign-in did not succeed or was closed.", "Offer it again."),
        ErrorCode(
            javaScript: "SHARE_UI_TIMEOUT", .mended, "The sharing window did not answer in time.", "Open it again."),
        ErrorCode(
            javaScript: "UNKNOWN_ERROR", .never, "CloudKit JS does not know what went wrong.", "See the reason and the browser's console."),
    ]
}
