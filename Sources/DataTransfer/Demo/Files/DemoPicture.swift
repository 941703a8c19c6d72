internal import CZlib

/// A generated bitmap.
struct DemoPicture: Sendable {
    struct Color: Sendable {
        let red, green, blue: UInt8

        init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        /// - Parameter part: the share of the other color, from 0 to 1.
        func mixed(with other: Color, _ part: Double) -> Color {
            let part = min(1, max(0, part))
            func mix(_ one: UInt8, _ two: UInt8) -> UInt8 { UInt8((Double(one) * (1 - part) + Double(two) * part).rounded()) }
            return Color(mix(red, other.red), mix(green, other.green), mix(blue, other.blue))
        }
    }

    let width: Int
    let height: Int
    /// Red, green and blue of each pixel, row by row.
    private let samples: [UInt8]

    /// - Parameter color: returns the color at x and y, counted from the upper left corner.
    init(width: Int, height: Int, color: (_ x: Int, _ y: Int) -> Color) {
        self.width = width
        self.height = height
        samples = [UInt8](unsafeUninitializedCapacity: width * height * 3) { buffer, count in
            var place = 0
            for y in 0..<height {
                for x in 0..<width {
                    let color = color(x, y)
                    buffer[place] = color.red
                    buffer[place + 1] = color.green
                    buffer[place + 2] = color.blue
                    place += 3
                }
            }
            count = place
        }
    }

    /// The picture in PNG format (W3C, "Portable Network Graphics (PNG) Specification").
    var png: [UInt8] {
        var header = Self.bytes(UInt32(width)) + Self.bytes(UInt32(height))
        // 8 bits per sample, RGB, the standard compression and filter methods, not interlaced.
        header += [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + Self.chunk("IHDR", header) + Self.chunk("IDAT", Self.compressed(filtered)) + Self.chunk("IEND", [])
    }

    /// The rows, each as the difference from the row above, which compresses well.
    private var filtered: [UInt8] {
        let length = width * 3
        return [UInt8](unsafeUninitializedCapacity: height * (length + 1)) { buffer, count in
            samples.withUnsafeBufferPointer { samples in
                var (place, source) = (0, 0)
                for y in 0..<height {
                    buffer[place] = 2
                    place += 1
                    for _ in 0..<length {
                        buffer[place] = y == 0 ? samples[source] : samples[source] &- samples[source - length]
                        place += 1
                        source += 1
                    }
                }
                count = place
            }
        }
    }

    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        let bound = compressBound(uLong(bytes.count))
        return [UInt8](unsafeUninitializedCapacity: Int(bound)) { buffer, count in
            var length = bound
            let code = compress2(buffer.baseAddress, &length, bytes, uLong(bytes.count), 6)
            // This fails only if memory is exhausted. An empty picture is better than an error then.
            count = code == Z_OK ? Int(length) : 0
        }
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        let checksum = crc32(0, checked, uInt(checked.count))
        return bytes(UInt32(content.count)) + checked + bytes(UInt32(truncatingIfNeeded: checksum))
    }

    private static func bytes(_ integer: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: integer >> UInt32($0)) }
    }
}
