public import HTTPTypes

/// Header names that HTTPTypes lacks. Each is made once, because making one checks and copies its text.
extension HTTPField.Name {
    public static let crossOriginOpenerPolicy = constant("Cross-Origin-Opener-Policy")
    public static let forwarded = constant("Forwarded")
    /// A second `Host` header. The first one becomes the authority.
    public static let hostHeader = constant("Host")
    public static let lastEventID = constant("Last-Event-ID")
    public static let referrerPolicy = constant("Referrer-Policy")
    public static let secFetchDest = constant("Sec-Fetch-Dest")
    public static let secFetchMode = constant("Sec-Fetch-Mode")
    public static let secFetchSite = constant("Sec-Fetch-Site")
    public static let serverTiming = constant("Server-Timing")
    public static let xForwardedFor = constant("X-Forwarded-For")
    public static let xFrameOptions = constant("X-Frame-Options")

    public static let skylightAccess = constant("X-Skylight-Access")
    public static let skylightClient = constant("X-Skylight-Client")
    public static let skylightDevice = constant("X-Skylight-Device")
    public static let skylightFileName = constant("X-Skylight-File-Name")
    public static let skylightForm = constant("X-Skylight-Form")
    public static let skylightRehearsal = constant("X-Skylight-Rehearsal")
    public static let skylightRehearse = constant("X-Skylight-Rehearse")
    public static let skylightRequest = constant("X-Skylight-Request")
    public static let skylightSize = constant("X-Skylight-Size")
    public static let skylightUser = constant("X-Skylight-User")

    public static let cloudKitKeyID = constant("X-Apple-CloudKit-Request-KeyID")
    public static let cloudKitDate = constant("X-Apple-CloudKit-Request-ISO8601Date")
    public static let cloudKitSignature = constant("X-Apple-CloudKit-Request-SignatureV1")
    /// The web auth token. Every answer returns the next one in it, and requests may send theirs in it, so that it need not be part of the address.
    public static let cloudKitWebAuthToken = constant("X-Apple-CloudKit-Web-Auth-Token")
    /// The same in CloudKit JS 1.
    public static let cloudKitSession = constant("X-Apple-CloudKit-Session")

    private static func constant(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("'\(text)' is not a header name") }
        return name
    }
}
