package import Traffic

extension ClientIdentity {
    /// The client name of the console's replays.
    package static let replayName = "Skylight replay"

    package var isReplay: Bool { name.map { $0.utf8.elementsEqual(Self.replayName.utf8) } ?? false }

    /// Details of the client beyond its label.
    package var details: String? {
        userAgent.flatMap { label.utf8.elementsEqual($0.utf8) ? nil : $0 }
    }
}
