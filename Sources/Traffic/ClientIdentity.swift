internal import Text

/// The identity of a client, from its own headers and parameters, because CloudKit clients have no names.
public struct ClientIdentity: Sendable, Hashable {
    /// The header `X-Skylight-Client`, or else the query parameter `clientId` that CloudKit JS and pyicloud send.
    public var name: String?
    /// The header `X-Skylight-Device`.
    public var deviceID: String?
    public var userAgent: String?

    public init(name: String?, deviceID: String?, userAgent: String?) {
        self.name = name
        self.deviceID = deviceID
        self.userAgent = userAgent
    }

    /// The names of the console: as its pages load and save files and follow feeds, and as it repeats a request of a client.
    public static let consoleName = "Skylight console"
    public static let replayName = "Skylight replay"
    /// The name of the command line, and of other Skylights, that use this server.
    public static let commandLineName = "skylight"
    private static let ownNames = [consoleName, replayName, commandLineName]

    /// True for the console and the command line, which are no clients of an app.
    public var isOfSkylight: Bool { name.map { name in Self.ownNames.contains { name.utf8.elementsEqual($0.utf8) } } ?? false }

    /// The common id of a client's requests: its name and device, or its user agent if it has neither.
    public var id: String {
        switch (name, deviceID) {
        case (let name?, let device?): "\(name) on \(device)"
        case (let name?, nil): name
        case (nil, let device?): device
        case (nil, nil): userAgent ?? "unnamed"
        }
    }

    /// The id for display: shortens a user agent to its last product, and a UUID name to its first characters, with the product before it.
    public var label: String {
        if let name, deviceID == nil, Self.isUUID(name) { return "\(product.map { "\($0) " } ?? "")\(name.prefix(8))" }
        return name == nil && deviceID == nil ? product ?? "unnamed" : id
    }

    /// `Chrome/142.0` from a browser's user agent, `python-requests/2.32` from a program's.
    private var product: String? {
        let words = userAgent?.split(separator: " ").filter { $0.contains("/") && !$0.hasPrefix("(") && !$0.hasPrefix("Safari/") } ?? []
        return (words.last ?? userAgent?.prefix(60)).map { String($0.prefix(60)) }
    }

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 36 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil || $0 == UInt8(ascii: "-") }
    }
}
