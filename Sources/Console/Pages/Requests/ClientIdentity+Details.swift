internal import Traffic

extension ClientIdentity {
    /// The name under which the console sends requests again.
    static let replayName = "Skylight replay"

    var isReplay: Bool { name.map { $0.utf8.elementsEqual(Self.replayName.utf8) } ?? false }

    /// What is known of it beyond the label.
    var details: String? {
        userAgent.flatMap { label.utf8.elementsEqual($0.utf8) ? nil : $0 }
    }
}
