internal import Text

/// The identity of a client, from its own headers and parameters, because CloudKit clients have no names.
public struct ClientIdentity: Sendable, Hashable {
    /// The header `X-Skylight-Client`.
    public var name: String?
    /// The client's id: the header `X-Skylight-Device`, else the `clientId` that CloudKit JS and pyicloud send. The records that the client saves
    /// have it as their `deviceID`, and so has the client's token for notifications.
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

    /// The id by which all parts of Skylight tell clients of a user apart; `nil` for a client that sends neither an id nor a name.
    public var clientID: String? { deviceID ?? name }

    /// The common id of a client's requests: its ``clientID``, or its user agent if it has none.
    public var id: String {
        // A repeated request names the device that it was of, but is none of its requests.
        if isOfSkylight, let name { return name }
        return clientID ?? userAgent ?? "unnamed"
    }

    /// The client for display: `Notes on iPad`. Shortens a user agent to its last product, and a UUID to its first characters, with the product
    /// before it.
    public var label: String {
        let shortID = clientID.map { Self.isUUID($0) ? String($0.prefix(8)) : $0 }
        guard let shortID else { return product ?? "unnamed" }
        if let name, name != clientID { return "\(name) on \(shortID)" }
        return shortID == clientID ? shortID : "\(product.map { "\($0) " } ?? "")\(shortID)"
    }

    /// `Chrome/142.0` from a browser's user agent, `python-requests/2.32` from a program's, and `Notes/2.1` from that of an app on RemoteRecords, which
    /// ends with Skylight's version.
    private var product: String? {
        let words = userAgent?.split(separator: " ").filter { $0.contains("/") && !$0.hasPrefix("(") && !$0.hasPrefix("Safari/") } ?? []
        return (words.last { !$0.hasPrefix("Skylight/") } ?? words.last ?? userAgent?.prefix(60)).map { String($0.prefix(60)) }
    }

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 36 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil || $0 == UInt8(ascii: "-") }
    }
}
