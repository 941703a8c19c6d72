/// A geographic location with the receiver's accuracy and movement.
public struct Location: Sendable, Hashable {
    /// Degrees, -90 to 90.
    public var latitude: Double
    /// Degrees, -180 to 180.
    public var longitude: Double
    /// In metres.
    public var horizontalAccuracy: Double?
    /// In metres.
    public var verticalAccuracy: Double?
    /// In metres above sea level.
    public var altitude: Double?
    /// In metres per second.
    public var speed: Double?
    /// In degrees clockwise from north.
    public var course: Double?
    /// When the receiver was there.
    public var timestamp: Timestamp?

    /// A place alone. It is not checked that the degrees are in range.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}
