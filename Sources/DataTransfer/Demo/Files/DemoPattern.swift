/// Randomly rotated tiles with arcs that connect to paths (after Sébastien Truchet, 1704).
struct DemoPattern: Sendable {
    private static let tile = 30
    private static let tiles = 8

    let seed: UInt64

    var picture: DemoPicture {
        var random = DemoRandom(seed: seed)
        let color = DemoPicture.Color(UInt8(random.number(in: 20...120)), UInt8(random.number(in: 60...160)), UInt8(random.number(in: 90...200)))
        let ground = color.mixed(with: .init(250, 245, 230), 0.9)
        let isTurned = (0..<Self.tiles * Self.tiles).map { _ in random.isTrue(oneIn: 2) }
        let side = Self.tile * Self.tiles
        return DemoPicture(width: side, height: side) { x, y in
            let (column, row) = (x / Self.tile, y / Self.tile)
            let across = isTurned[row * Self.tiles + column] ? Self.tile - 1 - x % Self.tile : x % Self.tile
            let down = y % Self.tile
            let (farAcross, farDown) = (Self.tile - 1 - across, Self.tile - 1 - down)
            let nearest = min(across * across + down * down, farAcross * farAcross + farDown * farDown)
            // True for a distance between 10 and 19 pixels from one of the two corners.
            return (100...361).contains(nearest) ? color : ground
        }
    }
}
