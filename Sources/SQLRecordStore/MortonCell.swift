internal import Records

/// A point on the Z-order curve. Latitude and longitude have 31 bits each and are interleaved, so that nearby places
/// mostly have nearby numbers.
struct MortonCell {
    /// Has 62 bits.
    let number: Int64

    init(_ location: Location) {
        number = Self.interleaved(latitude: Self.step(location.latitude, from: -90, span: 180), longitude: Self.step(location.longitude, from: -180, span: 360))
    }

    static let steps: Int64 = 1 << 31

    /// Index of the step that contains the coordinate, of 2³¹ steps from `lowest` over `span` degrees.
    static func step(_ coordinate: Double, from lowest: Double, span: Double) -> Int64 {
        let step = (coordinate - lowest) / span * Double(steps)
        return step >= Double(steps) ? steps - 1 : step > 0 ? Int64(step) : 0
    }

    static func interleaved(latitude: Int64, longitude: Int64) -> Int64 {
        spread(longitude) | spread(latitude) << 1
    }

    /// Inserts a zero bit before each bit.
    private static func spread(_ bits: Int64) -> Int64 {
        var bits = bits & 0x7FFF_FFFF
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }
}
