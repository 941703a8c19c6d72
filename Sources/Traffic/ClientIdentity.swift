/// What tells one client from another: what it says of itself, as CloudKit's clients have no name.
public struct ClientIdentity: Sendable, Hashable {
    /// The header `X-Skylight-Client`, else the query parameter `clientId` that CloudKit JS and pyicloud send.
    public var name: String?
    /// The header `X-Skylight-Device`.
    public var deviceID: String?
    public var userAgent: String?

    public init(name: String?, deviceID: String?, userAgent: String?) {
        self.name = name
        self.deviceID = deviceID
        self.userAgent = userAgent
    }

    /// What requests of one client have in common: its name and device, and its user agent only where it has neither.
    public var id: String {
        switch (name, deviceID) {
        case (let name?, let device?): "\(name) on \(device)"
        case (let name?, nil): name
        case (nil, let device?): device
        case (nil, nil): userAgent ?? "unnamed"
        }
    }

    /// The same for people: of a long user agent its last product, and of a name that is only a UUID the beginning, beside the program it is of.
    public var label: String {
        if let name, deviceID == nil, Self.isUUID(name) { return "\(product.map { "\($0) " } ?? "")\(name.prefix(8))" }
        return name == nil && deviceID == nil ? product ?? "unnamed" : id
    }

    /// `Chrome/142.0` of a browser's user agent, `python-requests/2.32` of a program's.
    private var product: String? {
        let words = userAgent?.split(separator: " ").filter { $0.contains("/") && !$0.hasPrefix("(") && !$0.hasPrefix("Safari/") } ?? []
        return (words.last ?? userAgent?.prefix(60)).map { String($0.prefix(60)) }
    }

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 36 && text.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit || $0 == UInt8(ascii: "-") }
    }
}
