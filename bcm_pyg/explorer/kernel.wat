;; Layers of a small network, four numbers at a time.
;; kernel.wasm is made of it by: wat2wasm kernel.wat -o kernel.wasm
;; Its plain twin, for browsers without these instructions, is in kernel.js.
(module
  (memory (import "page" "memory") 1)

  ;; x / (1 + exp(-x)) for all float32 from byte $at to $end.
  ;; exp is written out: 2**n times a polynomial, as in kernels/scores.py.
  (func (export "silu") (param $at i32) (param $end i32)
    (local $v v128) (local $t v128) (local $n v128) (local $e v128)
    (loop $next
      (local.set $v (v128.load (local.get $at)))
      (local.set $t (f32x4.min (f32x4.abs (local.get $v))
        (v128.const f32x4 87 87 87 87)))
      (local.set $n (f32x4.floor (f32x4.sub
        (v128.const f32x4 0.5 0.5 0.5 0.5)
        (f32x4.mul (local.get $t) (v128.const f32x4
          1.44269504 1.44269504 1.44269504 1.44269504)))))
      (local.set $t (f32x4.sub (f32x4.sub (f32x4.neg (local.get $t))
        (f32x4.mul (local.get $n) (v128.const f32x4
          0.693359375 0.693359375 0.693359375 0.693359375)))
        (f32x4.mul (local.get $n) (v128.const f32x4
          -2.12194440e-4 -2.12194440e-4 -2.12194440e-4 -2.12194440e-4))))
      (local.set $e (v128.const f32x4
        0.00138888889 0.00138888889 0.00138888889 0.00138888889))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 0.00833333333 0.00833333333 0.00833333333
          0.00833333333)))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 0.0416666667 0.0416666667 0.0416666667
          0.0416666667)))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 0.166666667 0.166666667 0.166666667 0.166666667)))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 0.5 0.5 0.5 0.5)))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 1 1 1 1)))
      (local.set $e (f32x4.add (f32x4.mul (local.get $e) (local.get $t))
        (v128.const f32x4 1 1 1 1)))
      (local.set $e (f32x4.mul (local.get $e) (i32x4.shl
        (i32x4.add (i32x4.trunc_sat_f32x4_s (local.get $n))
          (v128.const i32x4 127 127 127 127)) (i32.const 23))))
      (v128.store (local.get $at) (f32x4.div
        (f32x4.mul (local.get $v) (v128.bitselect
          (v128.const f32x4 1 1 1 1) (local.get $e)
          (f32x4.gt (local.get $v) (v128.const f32x4 0 0 0 0))))
        (f32x4.add (v128.const f32x4 1 1 1 1) (local.get $e))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))

  ;; out = x @ weight + bias for an even number of $rows; x is [rows, in],
  ;; weight [in, width], width a multiple of 16. All places are in bytes.
  (func (export "layer")
    (param $x i32) (param $weight i32) (param $bias i32) (param $out i32)
    (param $rows i32) (param $in i32) (param $width i32)
    (local $column i32) (local $one i32) (local $two i32) (local $end i32)
    (local $w i32) (local $to i32) (local $s v128) (local $t v128) (local $v v128)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local $b0 v128) (local $b1 v128) (local $b2 v128) (local $b3 v128)
    (local.set $in (i32.shl (local.get $in) (i32.const 2)))
    (local.set $width (i32.shl (local.get $width) (i32.const 2)))
    (loop $pair
      (local.set $column (i32.const 0))
      (loop $tile
        (local.set $to (i32.add (local.get $bias) (local.get $column)))
        (local.set $a0 (v128.load (local.get $to)))
        (local.set $a1 (v128.load offset=16 (local.get $to)))
        (local.set $a2 (v128.load offset=32 (local.get $to)))
        (local.set $a3 (v128.load offset=48 (local.get $to)))
        (local.set $b0 (local.get $a0))
        (local.set $b1 (local.get $a1))
        (local.set $b2 (local.get $a2))
        (local.set $b3 (local.get $a3))
        (local.set $one (local.get $x))
        (local.set $two (i32.add (local.get $x) (local.get $in)))
        (local.set $end (local.get $two))
        (local.set $w (i32.add (local.get $weight) (local.get $column)))
        (loop $inner
          (local.set $s (v128.load32_splat (local.get $one)))
          (local.set $t (v128.load32_splat (local.get $two)))
          (local.set $v (v128.load (local.get $w)))
          (local.set $a0 (f32x4.add (local.get $a0)
            (f32x4.mul (local.get $v) (local.get $s))))
          (local.set $b0 (f32x4.add (local.get $b0)
            (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $v (v128.load offset=16 (local.get $w)))
          (local.set $a1 (f32x4.add (local.get $a1)
            (f32x4.mul (local.get $v) (local.get $s))))
          (local.set $b1 (f32x4.add (local.get $b1)
            (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $v (v128.load offset=32 (local.get $w)))
          (local.set $a2 (f32x4.add (local.get $a2)
            (f32x4.mul (local.get $v) (local.get $s))))
          (local.set $b2 (f32x4.add (local.get $b2)
            (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $v (v128.load offset=48 (local.get $w)))
          (local.set $a3 (f32x4.add (local.get $a3)
            (f32x4.mul (local.get $v) (local.get $s))))
          (local.set $b3 (f32x4.add (local.get $b3)
            (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $w (i32.add (local.get $w) (local.get $width)))
          (local.set $two (i32.add (local.get $two) (i32.const 4)))
          (br_if $inner (i32.lt_u (local.tee $one
            (i32.add (local.get $one) (i32.const 4))) (local.get $end))))
        (local.set $to (i32.add (local.get $out) (local.get $column)))
        (v128.store (local.get $to) (local.get $a0))
        (v128.store offset=16 (local.get $to) (local.get $a1))
        (v128.store offset=32 (local.get $to) (local.get $a2))
        (v128.store offset=48 (local.get $to) (local.get $a3))
        (local.set $to (i32.add (local.get $to) (local.get $width)))
        (v128.store (local.get $to) (local.get $b0))
        (v128.store offset=16 (local.get $to) (local.get $b1))
        (v128.store offset=32 (local.get $to) (local.get $b2))
        (v128.store offset=48 (local.get $to) (local.get $b3))
        (br_if $tile (i32.lt_u (local.tee $column
          (i32.add (local.get $column) (i32.const 64))) (local.get $width))))
      (local.set $x (i32.add (local.get $x)
        (i32.shl (local.get $in) (i32.const 1))))
      (local.set $out (i32.add (local.get $out)
        (i32.shl (local.get $width) (i32.const 1))))
      (br_if $pair (i32.gt_s (local.tee $rows
        (i32.sub (local.get $rows) (i32.const 2))) (i32.const 0))))))
