// Callees that never return, behind slots that only the loader fills.
#[no_mangle] #[inline(never)] pub extern "C" fn index(a: &[u32; 8], i: usize) -> u32 { a[i] }
#[no_mangle] #[inline(never)] pub extern "C" fn divide(a: u32, b: u32) -> u32 { a / b }
#[no_mangle] #[inline(never)] pub extern "C" fn unwrap(a: Option<&u32>) -> u32 { *a.unwrap() }
pub mod named { #[inline(never)] pub fn add(a: u32, b: u32) -> u32 { a.wrapping_add(b) } }
fn main() {
    let a = [1u32, 2, 3, 4, 5, 6, 7, 8];
    let n = std::env::args().count();
    println!("{} {} {} {}", index(&a, n), divide(100, n as u32), unwrap(a.get(n)), named::add(n as u32, 1));
}
