public import JSON
public import Records

/// A notification for one device: its cause, its content, and what became of it.
public struct LoggedNotification: Sendable, Hashable, Identifiable {
    /// The state of the notification, or the reason why it was not sent.
    public enum Fate: Sendable, Hashable {
        /// It is in the device's queue.
        case waiting
        case delivered(Timestamp)
        /// Another one, which waited, tells of the change too.
        case coalesced(into: Int64)
        /// A later one with the same collapse id took its place.
        case replaced(by: Int64)
        /// Too many waited.
        case dropped
        /// The token expired while it waited.
        case expired
        /// A rehearsal lost it.
        case lost
        /// The client made the change itself.
        case ownChange
        /// The subscription has no `notificationInfo`.
        case withoutContent
    }

    /// The sequence number, from 1. The log sets it.
    public internal(set) var id: Int64 = 0
    public var moment: Timestamp
    /// The database of the subscription.
    public var address: DatabaseAddress
    public var user: Name
    public var subscriptionID: Name
    /// The position of the change.
    public var position: Int64
    public var zoneID: ZoneID
    /// The record and its change; `nil` if the zone itself came or went.
    public var recordName: Name?
    public var event: Subscription.Event?
    /// The hash of the device's token.
    public var tokenID: String
    /// The client to which the token belongs; `nil` if unknown.
    public var clientID: String?
    /// The notification as the device gets it; empty if it was not made.
    public var payload: [UInt8] = []
    /// Time by which a rehearsal holds it back.
    public var delay: Duration?
    /// The notification that somebody sent again with this one.
    public var original: Int64?
    public internal(set) var fate: Fate

    public init(
        at moment: Timestamp, in address: DatabaseAddress, of user: Name, subscriptionID: Name, position: Int64, zoneID: ZoneID, recordName: Name?,
        event: Subscription.Event?, tokenID: String, clientID: String?, fate: Fate
    ) {
        (self.moment, self.address, self.user, self.subscriptionID) = (moment, address, user, subscriptionID)
        (self.position, self.zoneID, self.recordName, self.event) = (position, zoneID, recordName, event)
        (self.tokenID, self.clientID, self.fate) = (tokenID, clientID, fate)
    }

    /// The approximate memory use in bytes.
    var size: Int { 400 + payload.count }
}
